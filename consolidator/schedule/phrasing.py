"""The words of a summary, asked of the language model that merges: one call, about numbers and nothing else."""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from pydantic import BaseModel, ConfigDict

from consolidator.asked import NOTHING_ASKED, Asked
from consolidator.llm.budget import Refused, most_of, taken_by
from consolidator.llm.choose import model_of
from consolidator.llm.port import ModelFailed, Reply
from consolidator.means import Means
from consolidator.merging.asking import Question
from consolidator.notify.message import Phrase

_SECONDS = 30.0  # a message does not wait longer for its words
_MOST_TOKENS = 2_048
_WORDS = "words"  # a purse of its own, as a scope has

_SYSTEM = """\
You are the night shift of an assistant's memory, and in the morning you tell its person what you did.

You are given numbers in JSON. Say in one or two short, friendly sentences, in the first person, what of it matters. \
Name no number that is not in the JSON, and leave out what is not worth a word. No greeting, no question, no advice, \
no names, no dates, no links, no markup, no thanks.

Answer with one JSON object and nothing else: {"text": string}\
"""


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


_SCHEMA: dict[str, Any] = _Words.model_json_schema()


def phrase_by(means: Means) -> Phrase | None:
    """What puts a night's facts into words; None where there is no model. It is paid from the budget of the run."""
    if means.choice.model is None:
        return None
    return lambda facts, persona: _asked(means, facts, persona)


def taken_by_words(means: Means) -> Asked:
    """What putting into words has taken of the budget so far."""
    spent = means.spending.spent(_WORDS)
    if not spent.calls or means.choice.model is None:
        return NOTHING_ASKED
    return Asked(**spent._asdict(), model=means.choice.model.name)


def _asked(means: Means, facts: Mapping[str, Any], persona: str | None) -> str | None:
    """The model's words, whatever they are; None where it gives none, or nothing is left to pay them with."""
    question = question_of(facts, persona)
    room = means.spending.reserve(_WORDS, most_of(question))
    if isinstance(room, Refused):
        return None
    seconds = min(_SECONDS, means.merge.timeout_seconds)
    once = means.merge.model_copy(update={"retries": 0, "timeout_seconds": seconds})
    model = model_of(once, means.environ).model
    if model is None:
        room.release()
        return None
    with closing(model):
        try:
            reply = model.ask(question)
        except ModelFailed:
            room.release()
            return None
    room.settle(taken_by(reply))
    return _words_in(reply)


def question_of(facts: Mapping[str, Any], persona: str | None) -> Question:
    """What the model is asked. persona: how the person wants it to sound."""
    system = f"{_SYSTEM}\n\nHow you sound: {persona}" if persona else _SYSTEM
    return Question(system, json.dumps(facts, ensure_ascii=False), _MOST_TOKENS, _SCHEMA)


def _words_in(reply: Reply) -> str | None:
    """The text in a reply, in JSON as asked or bare; None where it was refused or cut off."""
    if reply.stop != "end":
        return None
    said = reply.text.rpartition("</think>")[2].strip().removeprefix("```json").removesuffix("```").strip()
    if not said.startswith("{"):
        return said
    try:
        return _Words.model_validate_json(said).text
    except ValueError:
        return None
