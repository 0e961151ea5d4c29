"""What the tests of language models share: memories, a question, a model that never really waits."""

from dataclasses import dataclass, field

from consolidator.llm.anthropic import Anthropic
from consolidator.llm.client import Access, Client
from consolidator.llm.openai import OpenAI
from consolidator.llm.trying import Patience
from consolidator.merging.asking import Question, question
from consolidator.merging.texts import Text
from tests.providers.provider import Provider

MAY = 1_780_000_000_000_000
DAY = 86_400_000_000


def text(key: int, content: str, **given: object) -> Text:
    """A memory observed so many days after a day in May as its key says."""
    plain = Text(
        key=key,
        id=f"{key:064x}",
        content=content,
        type="fact",
        observed_at=MAY + key * DAY,
        strength=0.5,
        anchor=(None, None, None, None),
        merged=False,
        new=True,
    )
    return plain._replace(**given)


CATS = (text(1, "Ada has 2 cats."), text(2, "Ada has two cats, Mia and Tom."))


def cats() -> Question:
    return question(CATS, [])


@dataclass
class Watch:
    """A clock that only waiting moves."""

    waits: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def now(self) -> float:
        return sum(self.waits)


def model_at(
    provider: Provider, protocol: str, *, watch: Watch | None = None, retries: int = 5, timeout_seconds: float = 20
) -> Client:
    """A model at the test's provider."""
    watch = watch or Watch()
    patience = Patience(retries, watch.wait, clock=watch.now)
    if protocol == "anthropic":
        access = Access(provider.anthropic_url, provider.key or "any", timeout_seconds=timeout_seconds)
        return Anthropic("claude-haiku-5-5", access, patience=patience)
    access = Access(provider.openai_url, provider.key or "any", timeout_seconds=timeout_seconds)
    return OpenAI("gpt-6-luna", access, patience=patience)
