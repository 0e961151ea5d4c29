"""The book of a merge pass: every group that was found becomes a merge, with what was said of it and what it took."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from consolidator.asked import Asked
from consolidator.batching import TakenIn
from consolidator.compose import IN_A_BATCH, Composed, first_question
from consolidator.llm.budget import Tokens, cost, most_of
from consolidator.means import Means
from consolidator.plan import Merge, ScopePlan, Usage, members_hash
from consolidator.propose import Contained, Proposal, Proposed, guard_lines
from consolidator.store.merges import Sight
from consolidator.unite import CHANGING


class Book:
    """One pass. first: no model has answered before. embedded: how many vectors it made."""

    def __init__(self, found: Proposed, *, first: bool, embedded: int = 0) -> None:
        self.found = found
        self.first = first
        self.embedded = embedded
        self.merges: list[Merge] = []
        self.usage: list[Usage] = []
        self.waiting: Counter[str] = Counter()
        self.failures: dict[str, None] = {}
        self.expected = False

    def verdicts(self, composed: Iterable[Composed]) -> Iterator[Merge]:
        """The merges to be decided: first what needs no model, then each as its answer comes."""
        for proposal in self.found.proposals:
            if len(proposal.texts) == 1:
                yield from self._absorbed(proposal)
        for one in composed:
            self.usage.append(one.usage)
            if one.failed:
                self.failures[one.because] = None
            if one.verdict == "expected":
                self.expected = True
                self.merges.append(self._merge(one))
                continue
            yield self._merge(one)
            if one.verdict not in CHANGING and one.because != IN_A_BATCH:  # the answer is to fit the question
                yield from self._absorbed(one.proposal)

    def take(self, merge: Merge) -> None:
        """What became of a merge."""
        if merge.verdict == "waiting":
            merge = replace(merge, how="none")
            self.waiting[merge.because] += 1
        self.merges.append(merge)

    def closed(self, part: ScopePlan, sight: Sight, means: Means, taken: TakenIn) -> ScopePlan:
        """The part with all of it. What waited and does not any more, in other clusters or none, is settled."""
        still = {members_hash(one.ids) for one in self.merges}
        settled = {members_hash(one.ids) for one in sight.open} - still
        usd = sum(one.usd for one in self.usage)
        asked = Asked(
            clusters=len(self.found.proposals),
            waiting=dict(self.waiting),
            held_back=self.found.held_back,
            embedded=self.embedded,
            calls=sum(one.calls for one in self.usage),
            kept=sum(one.kept for one in self.usage),
            input_tokens=sum(one.input_tokens for one in self.usage),
            output_tokens=sum(one.output_tokens for one in self.usage),
            usd=None if means.choice.model and means.spending.price is None else usd,
            expected=self.expected,
            model=means.choice.model.name if means.choice.model else None,
            embedder=means.comparing.name,
            failures=(*means.comparing.failures, *taken.failures, *self.failures),
        )
        because = {"merge": "nothing says the same"} if not self.merges else {}
        notes = (*part.notes.get("merge", ()), *taken.notes, *self._notes(means))
        return replace(
            part,
            notes={**part.notes, "merge": notes} if notes else part.notes,
            merges=tuple(self.merges),
            looked_at=sight.fresh,
            settled=tuple(sorted({*sight.gone, *settled})),
            because_nothing={**part.because_nothing, **because},
            asked=asked,
        )

    def _notes(self, means: Means) -> Iterator[str]:
        if means.comparing.why_none and self.found.proposals:
            yield f"no vectors are made: {means.comparing.why_none}"
        calls = means.merge.budget.calls
        if self.first and calls and means.budget_is_default and means.choice.model and self.found.to_write:
            longest = max(most_of(first_question(one)) for one in self.found.to_write)
            usd = cost(Tokens(longest.input * calls, longest.output * calls), means.spending.price)
            most = "at a price that is not known" if usd is None else f"${usd:.2f} at most" if usd else "without cost"
            yield (
                f"merge.budget is not set, so each run asks {means.choice.model.name} at most {calls} times: "
                f"{most}, if all questions are as long as tonight's longest"
            )

    def _merge(self, one: Composed) -> Merge:
        """Written, it is of all members; else the verdict is on those that do not contain each other."""
        proposal = one.proposal
        written = one.verdict in CHANGING
        texts = proposal.members if written else proposal.texts
        return Merge(
            members=tuple(text.key for text in texts),
            ids=tuple(text.id for text in texts),
            texts=tuple(text.content for text in texts),
            revisions=tuple(self.found.revisions[text.key] for text in texts),
            verdict="waiting" if one.verdict == "expected" else one.verdict,
            how="written" if written or one.verdict == "expected" else "none",
            text=one.text,
            because=one.because,
            guard=guard_lines(proposal),
            tries=proposal.tries + (one.verdict == "rejected"),
            usage=one.usage,
        )

    def _absorbed(self, proposal: Proposal) -> Iterator[Merge]:
        """What goes into a text that contains it, by that text."""
        taken: dict[int, list[Contained]] = {}
        for one in proposal.contained:
            taken.setdefault(one.large.key, []).append(one)
        for ones in taken.values():
            large = ones[0].large
            texts = [large, *(one.small for one in ones)]
            equal = all(one.equal for one in ones)
            yield Merge(
                members=tuple(text.key for text in texts),
                ids=tuple(text.id for text in texts),
                texts=tuple(text.content for text in texts),
                revisions=tuple(self.found.revisions[text.key] for text in texts),
                verdict="absorb",
                how="equal" if equal else "contained",
                target=large.key,
                text=large.content,
                because="the same but for its form" if equal else "all that they say stands in it",
            )
