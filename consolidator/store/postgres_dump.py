"""A copy of a Postgres store by `pg_dump`, of the server's version or a later one. A password is never an argument."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from psycopg.conninfo import make_conninfo

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.store.handle import Store
from consolidator.store.tables import metadata
from consolidator.store.urls import shown

_SECRETS = frozenset({"password", "sslpassword"})
_VERSION = re.compile(r"\d+(\.\d+)?")


def dump(store: Store, path: Path) -> str:
    """
    Write the tables of a store into a file, in pg_dump's own format, which `pg_restore` reads; by which pg_dump.

    One of that version or later reads it.
    """
    with store.engine.connect() as conn:
        version = int((conn.dialect.server_version_info or (0,))[0])
        schema = conn.scalar(sa.text("SELECT current_schema()"))
        found = ((tool, _version_of(tool)) for tool in _tools(conn))
        tool, used = next(((tool, said) for tool, said in found if _major(said) >= version), (None, ""))
    if tool is None:
        raise BadInput(
            f"{shown(store.url)}: there is no pg_dump of version {version} or later here; install the server's client "
            f"programs (Debian: postgresql-client-{version}), or turn jobs.backup off"
        )
    quoted = (schema or "").replace('"', '""')
    tables = [f'--table="{quoted}"."{name}"' for name in ("alembic_version", *metadata.tables)]
    ended = subprocess.run(
        [tool, "--format=custom", "--no-password", f"--file={path}", *tables, f"--dbname={_server(store.url)}"],
        env=_environment(store.url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
        raise ConsolidatorError(f"{shown(store.url)}: no copy was made: {said[0]}; the older ones stay as they are")
    return f"pg_dump {used}"


def _tools(conn: sa.Connection) -> Iterator[Path]:
    """Every pg_dump to be found: on PATH, beside the server where that is here, and where Debian keeps them."""
    on_path = shutil.which("pg_dump")
    if on_path:
        yield Path(on_path)
    may_ask = conn.scalar(sa.text("SELECT has_function_privilege('pg_config()', 'execute')"))
    if may_ask:
        folder = conn.scalar(sa.text("SELECT setting FROM pg_config WHERE name = 'BINDIR'"))
        yield from Path(folder or "").glob("pg_dump")
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_dump"), reverse=True)


def _version_of(tool: Path) -> str:
    """The version of a program; empty where it does not run."""
    try:
        said = subprocess.run([tool, "--version"], capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    found = _VERSION.search(said)
    return found.group() if found else ""


def _major(version: str) -> int:
    return int(version.partition(".")[0] or 0)


def _server(url: sa.URL) -> str:
    """Where the database is, as libpq reads it, without secrets."""
    told: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
    for name, value in url.query.items():
        if name not in _SECRETS:
            told[name] = ",".join(value) if isinstance(value, tuple) else value
    return make_conninfo("", **told)


def _environment(url: sa.URL) -> dict[str, str]:
    password = url.password or url.query.get("password")
    return {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
