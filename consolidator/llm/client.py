"""What both providers' clients share: the connection, the tries, the form of answer, and failures in words."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from types import ModuleType
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from consolidator.instants import SECOND
from consolidator.llm.budget import most_of
from consolidator.llm.port import ModelFailed, Reply
from consolidator.llm.prices import LONGEST_QUESTION, OWN_PLACES
from consolidator.llm.trying import Patience, Stuck, Trouble, tried, trouble_of_status
from consolidator.merging.asking import Question, tokens_of
from consolidator.unreached import why_unreached

CLOCKS_DIFFER = 3600 * SECOND
_SECONDS_TO_CONNECT = 10.0
_LONGEST_MESSAGE = 200
_TELLING_LENGTH = 24
_TOKEN = re.compile(r"[A-Za-z0-9-]{1,32}")
_CUSTOM_ID = re.compile(r"[A-Za-z0-9_-]{1,31}")

T = TypeVar("T")


@dataclass(frozen=True)
class Access:
    """
    Where a provider is reached and with which key. base_url None: its own address. token: Anthropic's other key.

    Where neither key nor token is given the SDK looks for credentials by itself.
    """

    base_url: str | None = None
    key: str | None = None
    token: str | None = None
    timeout_seconds: float = 120
    retries: int = 5


class Client(ABC):
    """A model of one provider. The SDK is imported, and connects, when it is first needed."""

    provider: ClassVar[str]
    manners: ClassVar[tuple[str, ...]]  # in which an answer can be asked for, the strictest first
    most_in_batch: ClassVar[int]
    most_bytes_in_batch: ClassVar[int]

    def __init__(self, name: str, access: Access, *, patience: Patience | None = None) -> None:
        self.name = name
        self.access = access
        self._closed = Event()
        self._patience = patience or Patience(access.retries, self._closed.wait)
        self._lock = Lock()
        self._connected: Any = None
        self._manner = 0  # remembered for as long as this client lives
        self._worked = False

    @property
    def place(self) -> str:
        """Host, port and path where it is asked."""
        if self.access.base_url is None:
            return OWN_PLACES[self.provider]
        url = urlsplit(self.access.base_url)
        return f"{url.netloc.rpartition('@')[2].lower()}{url.path.rstrip('/')}"

    @property
    def who(self) -> str:
        """The model, for people."""
        own = self.place == OWN_PLACES[self.provider]
        return f"{self.provider}:{self.name}" if own else f"{self.provider}:{self.name} at {self.place}"

    def ask(self, question: Question) -> Reply:
        """The reply to one question, now."""
        if most_of(question).input > LONGEST_QUESTION:
            raise ModelFailed("unusable", f"the question is longer than {LONGEST_QUESTION} tokens")
        reply = self._reply_in(parsed(self._answered(question)))
        if reply is None:
            raise ModelFailed("unavailable", f"{self.who} answered with something that is no reply")
        self._worked = True
        return reply._replace(
            input_tokens=reply.input_tokens or tokens_of(question.system, question.prompt),
            output_tokens=reply.output_tokens or tokens_of(reply.text),
        )

    def _answered(self, question: Question) -> bytes:
        """The body of the answer, in the strictest form that the provider takes."""
        while True:
            manner = self._manner
            try:
                return self._tried(partial(self._send, question, self.manners[manner]))
            except Stuck as stuck:
                if not stuck.trouble.manner or manner + 1 == len(self.manners):
                    raise self._failure(stuck.trouble, question.prompt) from None
            with self._lock:
                self._manner = max(self._manner, manner + 1)

    def close(self) -> None:
        """End the connections; what waits for another try gives up."""
        self._closed.set()
        with self._lock:
            if self._connected is not None:
                self._connected.close()
                self._connected = None

    @abstractmethod
    def _sdk(self) -> tuple[ModuleType, type[Exception]]:
        """The SDK, and what all its exceptions are."""

    @abstractmethod
    def _connect(self, timeout: Any) -> Any:
        """The SDK's client, without tries of its own."""

    @abstractmethod
    def _send(self, question: Question, manner: str) -> bytes:
        """The body of the answer to a question."""

    @abstractmethod
    def _reply_in(self, document: Any) -> Reply | None:
        """The reply that a body holds, with 0 for tokens that are not told; None where it holds none."""

    def _client(self) -> Any:
        with self._lock:
            if self._closed.is_set():
                raise ModelFailed("unavailable", f"{self.who} is no longer asked")
            if self._connected is None:
                import httpx2

                seconds = self.access.timeout_seconds
                timeout = httpx2.Timeout(seconds, connect=min(seconds, _SECONDS_TO_CONNECT))
                try:
                    self._connected = self._connect(timeout)
                except (self._sdk()[1], ValueError, ImportError, OSError) as error:
                    raise ModelFailed("misconfigured", f"{self.who} cannot be asked: {error}") from None
            return self._connected

    # Calls that fail.

    def _tried(self, call: Callable[[], T], *, repeatable: bool = True) -> T:
        sdk, error = self._sdk()
        import httpx2

        errors = (error, httpx2.HTTPError)
        return tried(call, errors, partial(self._trouble_of, sdk), self._patience, repeatable=repeatable)

    def _done(self, call: Callable[[], T], *, repeatable: bool = True) -> T:
        """What a call gives, where no question's text is in it."""
        try:
            return self._tried(call, repeatable=repeatable)
        except Stuck as stuck:
            raise self._failure(stuck.trouble, "") from None

    def _read(self, call: Callable[[], Any], *, repeatable: bool = True) -> dict[str, Any]:
        """The JSON object that a raw call gives."""
        document = parsed(self._done(lambda: call().http_response.content, repeatable=repeatable))
        if not isinstance(document, dict):
            raise ModelFailed("unavailable", f"{self.who} answered with something that is no JSON object")
        return document

    def _pages(self, cursor: str, page: Callable[..., Any]) -> Iterator[Mapping[str, Any]]:
        """The items of a list, page by page. cursor: what the place to go on from is called."""
        after: dict[str, str] = {}
        while True:
            document = self._read(partial(page, **after))
            items = [mapping(item) for item in document.get("data") or ()]
            yield from items
            if not items or not document.get("has_more"):
                return
            after = {cursor: id_in(items[-1])}

    def _trouble_of(self, sdk: ModuleType, error: Any) -> Trouble:
        import httpx2

        if isinstance(error, sdk.APIStatusError):
            said = message_in(error.body)
            return trouble_of_status(
                self.who, error.status_code, error.response.headers, said, error.message, worked=self._worked
            )
        if isinstance(error, sdk.APITimeoutError | httpx2.TimeoutException):
            seconds = f"{self.access.timeout_seconds:g} s"
            return Trouble("unavailable", f"{self.who} gave no answer within {seconds}", again=True)
        if isinstance(error, sdk.APIConnectionError | httpx2.HTTPError):
            why = why_unreached(error, seconds=self.access.timeout_seconds)
            return Trouble("unavailable", f"{self.who} gave no answer: {why}", again=True)
        return Trouble("misconfigured", f"{self.who} cannot be asked", said=str(error))

    def _failure(self, trouble: Trouble, prompt: str) -> ModelFailed:
        """In words: what the provider said is among them, unless it quotes the prompt."""
        what = trouble.what
        if trouble.manner:
            what += f" to every way of asking ({', '.join(self.manners)})"
        said = " ".join(trouble.said.split())[:_LONGEST_MESSAGE]
        if trouble.kind != "unavailable" and said and not _quotes(said, prompt):
            what += f": {said}"
        return ModelFailed(trouble.kind, what)

    # Batches.

    def _named(self, questions: Mapping[str, Question], token: str) -> dict[str, Question]:
        """The questions by the ids that they have at the provider: each holds the token."""
        if not _TOKEN.fullmatch(token) or not all(map(_CUSTOM_ID.fullmatch, questions)):
            raise ValueError(f"no token or custom ids for a batch: {token!r}, {sorted(questions)}")
        if not 1 <= len(questions) <= self.most_in_batch:
            raise ModelFailed("unusable", f"a batch holds 1 to {self.most_in_batch} questions, not {len(questions)}")
        return {f"{token}_{custom_id}": question for custom_id, question in questions.items()}

    def _insist_on_size(self, content: str) -> None:
        """The content is ASCII: a byte for a character."""
        if len(content) > self.most_bytes_in_batch:
            raise ModelFailed("unusable", f"a batch holds up to {self.most_bytes_in_batch // 1_000_000} MB")

    def _failed_item(self, status: int, words: str, *, worked: bool) -> ModelFailed:
        """Why a question of a batch was not answered. worked: whether another one was."""
        trouble = trouble_of_status(self.who, status, {}, "", words, worked=worked or self._worked)
        return ModelFailed(trouble.kind, trouble.what)


def parsed(body: bytes) -> Any:
    """The JSON in a body; None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def lines_in(body: bytes) -> list[dict[str, Any]]:
    """The JSON objects of JSON lines; a line that is none is left out."""
    return [document for document in map(parsed, body.split(b"\n")) if isinstance(document, dict)]


def id_in(document: Mapping[str, Any]) -> str:
    """The id of what a document describes. ModelFailed where it has none."""
    if not isinstance(document.get("id"), str):
        raise ModelFailed("unavailable", "the provider answered with something that has no id")
    return str(document["id"])


def mapping(value: Any) -> Mapping[str, Any]:
    """A part of a document that should be an object; where it is none, an empty one."""
    return value if isinstance(value, Mapping) else {}


def whole(value: Any) -> int:
    """A count in a document; 0 where it is none."""
    return value if isinstance(value, int) and value > 0 else 0


def message_in(body: Any) -> str:
    """The message in the body of an error, in whatever shape servers write it; empty where there is none."""
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else body
    if not isinstance(body, Mapping):
        return ""
    return next(filter(None, (message_in(body.get(name)) for name in ("error", "message", "detail"))), "")


def _quotes(said: str, prompt: str) -> bool:
    """Whether a message repeats a stretch of the prompt."""
    return any(said[at : at + _TELLING_LENGTH] in prompt for at in range(len(said) - _TELLING_LENGTH + 1))
