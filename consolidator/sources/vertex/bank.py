"""
What Memory Bank is asked, by its client library (`google-cloud-aiplatform` 2.7), and its refusals in one line each.

An image is a memory as the API spells it in JSON, without what the service alone tells of its state (`updateTime`).
What the library has no public name for (an update with a mask, the state of an operation) is reached in this file only.
"""

import ipaddress
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from threading import Event
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from consolidator.errors import BadInput
from consolidator.instants import parse_instant, to_datetime
from consolidator.sources.port import Image

PAGE = 100  # the most that the service gives at once
TIMEOUT_SECONDS = 60
RETRIES: dict[str, Any] = {"attempts": 5, "initial_delay": 1.0, "max_delay": 20.0}  # of 429, 5xx and lost connections
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0  # between two looks at an operation
DEADLINE_SECONDS = 120.0
LABELS = {"made-by": "consolidator"}  # of the revisions that our writes make

_ID = re.compile(r"[a-z0-9-]{1,63}")
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


class Refused(Exception):
    """The service will not do this to this memory, and why. code: of HTTP, 0 where an operation failed."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


class Lost(BadInput):
    """The service was asked to do something and its answer did not come: it may have been done or not."""


@contextmanager
def opened(url: str, project: str, location: str, *, endpoint: str | None, token: str | None) -> Iterator[Any]:
    """The library's `memories`, closed at the end of the block. BadInput where nothing says who is asking."""
    credentials = _credentials(url, endpoint, token)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library does at its import is no matter of ours
        client_of = import_module("agentplatform").Client
        import_module("agentplatform._genai.memories")
        types = import_module("google.genai.types")
    logging.getLogger("google_genai").setLevel(logging.ERROR)
    options = types.HttpOptions(
        base_url=endpoint, timeout=TIMEOUT_SECONDS * 1000, retry_options=types.HttpRetryOptions(**RETRIES)
    )
    client = client_of(project=project, location=location, credentials=credentials, http_options=options)
    try:
        yield client.memory_banks.memories
    finally:
        client._api_client.close()


def _credentials(url: str, endpoint: str | None, token: str | None) -> Any:
    if token is None and endpoint is not None and _is_here(endpoint):
        token = "local"  # whoever answers on this machine wants none, and the library wants one
    if token is not None:
        return import_module("google.oauth2.credentials").Credentials(token)
    auth, errors = import_module("google.auth"), import_module("google.auth.exceptions")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a person's own credentials will do
            return auth.default(scopes=_SCOPES)[0]
    except errors.GoogleAuthError as error:
        raise BadInput(
            f"{url}: no credentials ({_first_line(error)}); run `gcloud auth application-default login`, or set "
            "GOOGLE_APPLICATION_CREDENTIALS"
        ) from None


def _is_here(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class Bank:
    """
    The memories of one engine, by the last part of their names.

    Refused: this memory is left as it is. BadInput: the service cannot be used at all; Lost, while it was writing.
    """

    def __init__(self, memories: Any, engine: str, url: str) -> None:
        self._memories, self.engine, self.url = memories, engine, url

    def all(self) -> Iterator[tuple[str, Image]]:
        """Every memory, in pages, each once."""
        config = {"page_size": PAGE}
        pages = self._asked(lambda: iter(self._memories.list(name=self.engine, config=config)), whole=True)
        seen: set[str] = set()
        while (memory := self._asked(lambda: next(pages, None), whole=True)) is not None:
            name, image = _read(memory)
            if name not in seen:
                seen.add(name)
                yield name, image

    def get(self, name: str) -> Image | None:
        """A memory as it is now; None where there is none."""
        if not _ID.fullmatch(name):
            return None
        try:
            return _read(self._asked(lambda: self._memories.get(name=self._path(name))))[1]
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def create(self, image: Image, name: str) -> None:
        """A memory of that name. Refused with 409 where there is one, or was one not long ago."""
        config = {
            **_settable(image),
            "memory_id": name,
            "wait_for_completion": False,
            "http_options": {"extra_body": {"revisionLabels": LABELS}},
        }
        about = {"name": self.engine, "fact": image["fact"], "scope": dict(image["scope"]), "config": config}
        self._settle(lambda: self._memories.create(**about))

    def change(self, name: str, image: Image, fields: tuple[str, ...]) -> None:
        """
        Set these fields to what they are in the image, and nothing else. Only another text makes a revision.

        The time when it expires is set to what it is, too: a bank may be told to move it with every update.
        """
        if "expireTime" in image and "expireTime" not in fields:
            fields = (*fields, "expireTime")
        config: dict[str, Any] = {key: value for key, value in _settable(image).items() if _camel(key) in fields}
        for key in {"metadata", "topics"} & {*fields}:
            config.setdefault(key, {} if key == "metadata" else [])
        config["update_mask"] = ",".join(map(_snake, fields))
        if "fact" in fields:
            config["http_options"] = {"extra_body": {"revisionLabels": LABELS}}
        else:
            config["disable_memory_revisions"] = True
        fact = {"fact": image["fact"]} if "fact" in fields else {}
        self._settle(lambda: self._memories._update(name=self._path(name), config=config, **fact))

    def delete(self, name: str) -> None:
        """No memory of that name any more."""
        try:
            self._settle(lambda: self._memories.delete(name=self._path(name)))
        except Refused as refused:
            if refused.code != 404:
                raise

    def revive(self, name: str, fact: str) -> bool:
        """
        A memory that was deleted is there again, by one of its revisions: the last that says this, else the last.
        False where there is none any more: the service keeps them for two days after a deletion.
        """
        path = self._path(name)
        try:
            config = {"page_size": PAGE}
            found = self._asked(lambda: list(self._memories.revisions.list(name=path, config=config)))
            found.sort(key=lambda revision: (revision.fact == fact, revision.create_time))
            if not found:
                return False
            last = found[-1].name.rpartition("/")[2]
            config = {"wait_for_completion": False}
            self._settle(lambda: self._memories.rollback(name=path, target_revision_id=last, config=config))
        except Refused as refused:
            if refused.code in (404, 400):
                return False
            raise
        return True

    def _path(self, name: str) -> str:
        return f"{self.engine}/memories/{name}"

    def _settle(self, begin: Callable[[], Any]) -> None:
        """Begin an operation and wait until it is done."""
        operation = self._asked(begin, again=0)
        until, pause = monotonic() + DEADLINE_SECONDS, FIRST_PAUSE_SECONDS
        waiting, first = Event(), True
        while not operation.done:
            if not first and monotonic() + pause > until:
                raise Refused(f"is not done with after {DEADLINE_SECONDS:g} seconds; look again later")
            if not first:
                waiting.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            first = False
            operation = self._asked(partial(self._memories._get_memory_operation, operation_name=operation.name))
        if operation.error:
            raise Refused(f"could not be written: {_first_line(operation.error.get('message') or operation.error)}")

    def _asked(self, ask: Callable[[], Any], *, whole: bool = False, again: int = 1) -> Any:
        """
        What the service answers. whole: it is asked about the engine, and not about one memory. again: how often it is
        asked once more where its answer was lost on the way; only what changes nothing is.
        """
        errors, auth = import_module("google.genai.errors"), import_module("google.auth.exceptions")
        lost: tuple[type[Exception], ...] = (OSError, *_errors_of("HTTPError"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as of a topic that is newer than the library
                return ask()
        except errors.APIError as error:
            if error.code in (400, 404, 409, 412) and not whole:
                raise Refused(f"could not be written: {_first_line(error.message)}", error.code) from None
            raise BadInput(f"{self.url}: {self._refusal(error)}") from None
        except auth.GoogleAuthError as error:
            raise BadInput(f"{self.url}: the credentials do not work ({_first_line(error)}); log in again") from None
        except lost as error:
            if again and not isinstance(error, _errors_of("ConnectError", "TimeoutException")):  # they were tried again
                return self._asked(ask, whole=whole, again=again - 1)
            raise Lost(f"{self.url}: cannot be reached ({_first_line(error) or type(error).__name__})") from None
        except (ValueError, errors.UnknownApiResponseError) as error:
            raise BadInput(f"{self.url}: an answer that is none of Memory Bank's ({_first_line(error)})") from None

    def _refusal(self, error: Any) -> str:
        said = _first_line(error.message)
        if error.code == 404:
            return f"there is no such reasoning engine ({said})"
        if error.code in (401, 403):
            return f"access is refused ({said}); it takes the role `roles/aiplatform.user` and valid credentials"
        if error.code == 429:
            return f"the quota is used up ({said}); try again later"
        return f"the service fails with {error.code} ({said}); try again later"


def instant_of(image: Image, field: str) -> int | None:
    """A time of a memory."""
    return parse_instant(image[field]) if image.get(field) else None


def _read(memory: Any) -> tuple[str, Image]:
    image = memory.model_dump(mode="json", by_alias=True, exclude_none=True)
    for field in ("updateTime", "ttl", "revisionLabels"):
        image.pop(field, None)
    name = str(image["name"]).rpartition("/")[2]
    return name, {**image, "name": name}


def _settable(image: Image) -> dict[str, Any]:
    """What of a memory is set beside its fact and scope, as the library names it."""
    fields = ("displayName", "description", "topics", "metadata")
    config: dict[str, Any] = {_snake(key): image[key] for key in fields if image.get(key)}
    if image.get("expireTime"):
        config["expire_time"] = to_datetime(parse_instant(image["expireTime"]))
    return config


def _snake(field: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", field)


def _camel(field: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), field)


def _first_line(words: object) -> str:
    return " ".join(str(words or "").split("\n")[0].split())[:200].rstrip(".")


def _errors_of(*names: str) -> tuple[type[Exception], ...]:
    """What the libraries raise that may lie under the client, where a server cannot be reached."""
    found: list[type[Exception]] = []
    for library in ("httpx", "httpx2"):
        with suppress(ImportError):
            module = import_module(library)
            found += [getattr(module, name) for name in names]
    return tuple(found)


def changed(before: Mapping[str, Any], after: Mapping[str, Any], fields: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the fields that are not the same in two images; one that is empty is one that is not there."""
    return tuple(field for field in fields if (before.get(field) or None) != (after.get(field) or None))
