"""What travels: the wheel holds the program and its migrations."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Built as an installer does it, from the source archive alone, and without any index."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder))
    (archive,) = folder.glob("*.tar.gz")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", str(folder), str(archive))
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as opened:
        yield opened


def run(*command: str) -> str:
    """What the command printed, errors too."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def modules(folder: str) -> set[str]:
    return {path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*.py")}


def test_the_wheel_holds_every_module_and_every_migration(wheel: zipfile.ZipFile) -> None:
    """The wheel built from the source archive holds each module of the program and each migration, once."""
    expected = {f"consolidator/{name}" for name in modules("consolidator")}
    expected |= {f"consolidator/_migrations/{name}" for name in modules("migrations")}
    assert "consolidator/_migrations/env.py" in expected
    assert {name for name in wheel.namelist() if name.endswith(".py")} == expected
    assert len(wheel.namelist()) == len(set(wheel.namelist()))


def test_the_wheel_holds_what_the_modules_read(wheel: zipfile.ZipFile) -> None:
    """Files beside the modules that are no Python, such as templates, travel with them."""
    beside = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "consolidator").rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert "consolidator/embedding/model/tokenizer.json" in beside
    assert beside <= set(wheel.namelist())


def test_the_wheel_names_its_command(wheel: zipfile.ZipFile) -> None:
    """Installing the wheel puts `consolidate` on the path."""
    (entry_points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "consolidate = consolidator.cli:main" in wheel.read(entry_points).decode()
