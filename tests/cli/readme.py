"""The commands in README.md, followed literally. Run as a program, this writes what they print into the page."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_STEP = re.compile(r"^\$ .*(?:\n> .*)*", re.MULTILINE)
_RUN = re.compile(r"(run-\d{8}-\d{4})-[0-9a-f]{8}")
_STEADY = ("5d3c8a10", "9b1e44c7", "c07f2ad3", "2e8d61f5")  # a run has another name each time


def followed(page: str, folder: Path) -> str:
    """The page with what its commands print in a new shell in an empty folder, instead of what stands there."""
    steps = [step for block in _BLOCK.findall(page) for step in _STEP.findall(block)]
    printed = _printed(steps, folder)

    def rewritten(block: re.Match[str]) -> str:
        told = [f"{step}\n{next(printed)}" for step in _STEP.findall(block[1])]
        return "```console\n" + "".join(told) + "```"

    return _BLOCK.sub(rewritten, page)


def _printed(steps: list[str], folder: Path) -> Iterator[str]:
    mark = "=== next ==="
    script = "".join(f"{_typed(step)}\nprintf '%s\\n' '{mark}'\n" for step in steps)
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "PYTHONPATH": str(README.parent),
        "LC_ALL": "C.UTF-8",
    }
    said = subprocess.run(
        ["sh", "-eu"], input=script, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout
    names: dict[str, str] = {}

    def steady(run: re.Match[str]) -> str:
        return names.setdefault(run[0], f"{run[1]}-{_STEADY[len(names) % len(_STEADY)]}")

    for text in said.stdout.split(f"{mark}\n"):
        yield _RUN.sub(steady, text.replace(str(folder), "/home/ada"))


def _typed(step: str) -> str:
    return "\n".join(line[2:] for line in step.split("\n"))


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as empty:
        README.write_text(followed(README.read_text(), Path(empty)))
