"""
Ready-made answers of a model: each gets the memories of the prompt and the request, and returns what the model says.

An answer may return a dict (sent as JSON), a string (sent as it is), Said (with the reason why the model stopped), or
a Behaviour (how the call goes wrong). It is called from many threads at once.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from tests.providers.behaviours import Behaviour
from tests.providers.wire import as_json

Source = Mapping[str, Any]
Sources = list[dict[str, Any]]
Stop = Literal["end", "cut off", "refusal", "filtered"]


@dataclass(frozen=True)
class Said:
    """
    What the model says and why it stopped. stop None: at its end, or cut off where the text exceeds `max_tokens`.

    refusal: OpenAI's field beside the content, which is then null. thinking: what it thought before, a block of its own
    at Anthropic.
    """

    text: str
    stop: Stop | None = None
    refusal: str | None = None
    thinking: str = ""
    sent_as: Behaviour | None = None


Answer = Callable[[Sources, dict[str, Any]], "dict[str, Any] | str | Said | Behaviour"]

DATES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)\b(?:,? \d{4})?"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}\b"
    r"(?:,? \d{4})?|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
)
NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
NAMES = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")
FIRST_NAMES = re.compile(r"\b[A-Z][\w-]+")


def concatenate(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    """All contents, one after the other: nothing is lost."""
    return verdict("merge", joined(sources), kept=[source["content"] for source in sources])


def newest(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    """An update: the newest content as it is, the others dropped as outdated."""
    latest = max(range(len(sources)), key=lambda at: (observed(sources[at]), at), default=None)
    if latest is None:
        return distinct(sources, request)
    dropped = [
        {"fact": source["content"], "because": "a newer memory says otherwise"}
        for at, source in enumerate(sources)
        if at != latest
    ]
    return verdict("update", sources[latest]["content"], kept=[sources[latest]["content"]], dropped=dropped)


def distinct(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return verdict("distinct", "")


def invent_number(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return {**concatenate(sources, request), "text": f"{joined(sources)} This was said 4711 times."}


def drop_number(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return without(NUMBERS, sources)


def drop_date(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return without(DATES, sources)


def drop_name(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    """A capitalized word within a sentence, else the first one."""
    return without(NAMES if NAMES.search(joined(sources)) else FIRST_NAMES, sources)


def refuse_in_prose(sources: Sources, request: dict[str, Any]) -> str:
    return "I'm sorry, but I can't help with merging these memories."


def refuse(sources: Sources, request: dict[str, Any]) -> Said:
    """By the stop reason (Anthropic) or the refusal field (OpenAI)."""
    return Said("", stop="refusal", refusal="I'm sorry, I can't assist with that request.")


def filtered(sources: Sources, request: dict[str, Any]) -> Said:
    """Taken by a content filter: OpenAI's finish_reason content_filter, a refusal at Anthropic."""
    return Said("", stop="filtered")


def empty(sources: Sources, request: dict[str, Any]) -> str:
    return ""


def cut_off(sources: Sources, request: dict[str, Any]) -> Said:
    """Half of the JSON, and the reason says so."""
    whole = as_json(concatenate(sources, request))
    return Said(whole[: len(whole) // 2], stop="cut off")


def cut_off_unsaid(sources: Sources, request: dict[str, Any]) -> Said:
    """Half of the JSON, though the reason says that it ended."""
    return Said(cut_off(sources, request).text, stop="end")


def violate_schema(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    """JSON with other keys than were asked for, as servers say it that ignore the schema."""
    return {"decision": "merge", "merged_text": joined(sources), "confidence": 0.9}


def wrong_type(sources: Sources, request: dict[str, Any]) -> str:
    """JSON, but no object."""
    return as_json(["merge", joined(sources)])


def wrong_types_within(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return {"verdict": "merge", "text": 12, "kept": "all", "dropped": None}


def unknown_verdict(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    return {**concatenate(sources, request), "verdict": "combine"}


def gigantic(sources: Sources, request: dict[str, Any]) -> Said:
    """Two megabytes, whatever `max_tokens` said."""
    text = f"{joined(sources)} {'And so on and so forth. ' * 90_000}"
    return Said(as_json({**concatenate(sources, request), "text": text}), stop="end")


def obey(sources: Sources, request: dict[str, Any]) -> dict[str, Any]:
    """Does what a memory that gives orders might have wanted: says OK and forgets the rest."""
    return verdict("merge", "OK", kept=[])


def in_prose(answer: Answer = concatenate) -> Answer:
    """The same as JSON with prose around it."""
    return lambda sources, request: f"Here is the result:\n\n{as_text(answer(sources, request))}\n\nHope this helps!"


def fenced(answer: Answer = concatenate) -> Answer:
    """The same as JSON in a Markdown fence."""
    return lambda sources, request: f"```json\n{as_text(answer(sources, request))}\n```"


def thinking_aloud(answer: Answer = concatenate) -> Answer:
    """The same after a <think> element with a draft in it, as local servers let it through."""
    draft = as_json(verdict("distinct", ""))
    return lambda sources, request: f"<think>\nPerhaps {draft}?\n</think>\n\n{as_text(answer(sources, request))}"


def thoughtful(answer: Answer = concatenate) -> Answer:
    """The same after thoughts in their own place."""
    return lambda sources, request: Said(as_text(answer(sources, request)), thinking="Let me see what they share.")


def knows_no_schema(answer: Answer = concatenate) -> Answer:
    """As a server that refuses structured output: 400 where a schema is asked for."""
    no = Behaviour("no schema", 400, "response_format or output_config of type 'json_schema' is not supported here.")
    return lambda sources, request: no if form_of(request) == "json_schema" else outcome(answer, sources, request)


def knows_no_form(answer: Answer = concatenate) -> Answer:
    """As a server that refuses every form of answer, `json_object` too."""
    no = Behaviour("no form", 400, "response_format or output_config is not supported here.")
    return lambda sources, request: no if form_of(request) not in ("", "text") else outcome(answer, sources, request)


def form_of(request: dict[str, Any]) -> str:
    """The kind of answer that is asked for: json_schema, json_object, text, or empty."""
    form = request.get("response_format") or request.get("output_config", {}).get("format") or {}
    return form.get("type", "")


def when(word: str, answer: Answer | Behaviour, otherwise: Answer | Behaviour = concatenate) -> Answer:
    """`answer` where a memory of the cluster holds the word, else `otherwise`."""
    return lambda sources, request: outcome(
        answer if any(word in source["content"] for source in sources) else otherwise, sources, request
    )


def in_turn(*answers: Answer | Behaviour) -> Answer:
    """The first answer the first time a cluster is asked about, the second the next time; the last one from then on."""
    seen: dict[tuple[str, ...], int] = {}
    lock = Lock()

    def answer(sources: Sources, request: dict[str, Any]) -> Any:
        cluster = tuple(sorted(source["content"] for source in sources))
        with lock:
            turn = seen[cluster] = seen.get(cluster, 0) + 1
        return outcome(answers[min(turn, len(answers)) - 1], sources, request)

    return answer


def outcome(answer: Any, sources: Sources, request: dict[str, Any]) -> Any:
    return answer(sources, request) if callable(answer) else answer


def verdict(
    said: str, text: str, *, kept: list[str] | None = None, dropped: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    return {"verdict": said, "text": text, "kept": kept or [], "dropped": dropped or []}


def joined(sources: Sources) -> str:
    return " ".join(source["content"] for source in sources)


def observed(source: Source) -> str:
    """When it was observed, in the prompt's form, which sorts; empty where it does not say."""
    return str(source.get("observed", ""))


def without(what: re.Pattern[str], sources: Sources) -> dict[str, Any]:
    """All contents, but one thing of the kind is left out wherever it stands. AssertionError where there is none."""
    text = joined(sources)
    found = what.search(text)
    assert found, f"nothing to leave out of {text!r}"
    rest = re.sub(rf"\s*(?<!\w){re.escape(found[0])}(?!\w)", "", text).strip()
    return verdict("merge", rest, kept=[source["content"] for source in sources])


def as_text(said: Any) -> str:
    return said if isinstance(said, str) else said.text if isinstance(said, Said) else as_json(said)


BY_NAME: dict[str, Answer] = {
    answer.__name__: answer
    for answer in (
        concatenate, newest, distinct, invent_number, drop_number, drop_date, drop_name, refuse_in_prose, refuse,
        filtered, empty, cut_off, cut_off_unsaid, violate_schema, wrong_type, wrong_types_within, unknown_verdict,
        gigantic, obey,
    )
}  # fmt: skip
BY_NAME |= {
    maker.__name__: maker() for maker in (in_prose, fenced, thinking_aloud, thoughtful, knows_no_schema, knows_no_form)
}
