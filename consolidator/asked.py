"""What merging one scope took and left, in numbers and names, for the report. No memory text."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The merge step of a scope, or of a whole night: what it looked at and what it paid.

    clusters: judged. waiting: clusters carried over, by reason. held_back: memories with a secret in them, neither sent
    nor merged. embedded: vectors made. calls, input_tokens, output_tokens, usd: what was paid for, usd None where the
    price is not known. expected: not paid yet, but what asking would cost at most. kept: answers that had been paid for
    before. model, embedder: by name, None where none is used. failures: what went wrong though it was set up, in words.
    """

    clusters: int = 0
    waiting: Mapping[str, int] = field(default_factory=dict)
    held_back: int = 0
    embedded: int = 0
    calls: int = 0
    kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    expected: bool = False
    model: str | None = None
    embedder: str | None = None
    failures: tuple[str, ...] = ()

    @property
    def carried_over(self) -> int:
        """How many clusters wait."""
        return sum(self.waiting.values())

    def plus(self, other: "Asked") -> "Asked":
        """Both together: two scopes of a night."""
        waiting = dict(self.waiting)
        for reason, count in other.waiting.items():
            waiting[reason] = waiting.get(reason, 0) + count
        return Asked(
            clusters=self.clusters + other.clusters,
            waiting=waiting,
            held_back=self.held_back + other.held_back,
            embedded=self.embedded + other.embedded,
            calls=self.calls + other.calls,
            kept=self.kept + other.kept,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
            expected=self.expected or other.expected,
            model=self.model or other.model,
            embedder=self.embedder or other.embedder,
            failures=tuple(dict.fromkeys((*self.failures, *other.failures))),
        )


NOTHING_ASKED = Asked()
