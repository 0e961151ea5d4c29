"""
The one way to a language model: a question goes in, a reply comes out, or a failure in words.

A reply is whatever the model said, also where it was cut off or refused: it is paid, so it is kept.
"""

import json
from collections.abc import Container, Mapping
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol

from consolidator.errors import ConsolidatorError
from consolidator.merging.asking import Question, Stop

Kind = Literal["unavailable", "misconfigured", "refused", "unusable"]


class Reply(NamedTuple):
    """What a model said, why it stopped, and how many tokens it took. model: the name that the provider says."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str
    stop: Stop = "end"


class ModelFailed(ConsolidatorError):
    """
    No reply came; nothing is known to be paid. `what` never quotes the question.

    unavailable: the provider is down, busy, slow or talks nonsense. misconfigured: key, model, account or settings;
    every further question would fail like this one. refused, unusable: this question, by the provider's rules or size.
    """

    def __init__(self, kind: Kind, what: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what

    @property
    def retry_later(self) -> bool:
        """Whether nothing was judged, so that the question waits and no try is spent."""
        return self.kind in ("unavailable", "misconfigured")


class BatchState(NamedTuple):
    """
    How a batch fares. what: that in words.

    answers: by custom id, once it has ended. An id that is not among them got no answer: its question waits again.
    """

    ended: bool
    answers: Mapping[str, Reply | ModelFailed]
    what: str


class Model(Protocol):
    """
    A model of a provider. Everything may be called from many threads; every failure is a ModelFailed.

    place: where it is asked, the provider's own address or another: host, port and path.
    """

    @property
    def provider(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...

    def ask(self, question: Question) -> Reply:
        """The reply to one question, now. Tried again where that can help."""

    def submit(self, questions: Mapping[str, Question], token: str) -> str:
        """
        Hand in a batch; its id. Questions by custom id (1 to 31 letters, digits, - and _).

        The token (1 to 32 letters, digits and -) finds the batch again where the id was lost: a failure here does
        not mean that no batch was made.
        """

    def find_batch(self, token: str, *, since: int, known: Container[str] = ()) -> str | None:
        """
        The id of the batch that was handed in with the token; None: there is none.

        since: the instant before it was handed in. known: batches that are certainly others. ModelFailed
        `unavailable` where it cannot be told yet.
        """

    def collect(self, batch_id: str) -> BatchState:
        """How a batch fares, and its answers once it has ended. Asking again gives the same again."""

    def close(self) -> None:
        """End the connections; what waits for another try gives up."""


def request_hash(model: Model, question: Question) -> str:
    """
    The name of a request: equal exactly where the same words go to the same model at the same place.

    What is left out changes no answer: the key, time-outs, whether it goes live or in a batch.
    """
    request = {
        "provider": model.provider,
        "place": model.place,
        "model": model.name,
        "system": question.system,
        "prompt": question.prompt,
        "max_tokens": question.max_tokens,
        "schema": question.schema,
    }
    return sha256(json.dumps(request, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
