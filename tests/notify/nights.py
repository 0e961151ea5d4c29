"""Nights to tell of: a sound one, one done in part, one that failed, and one whose memories try everything."""

from consolidator.plan import STEPS, TOTALS, ScopeOutcome, ScopePlan
from consolidator.report import Report, build
from tests.report.nights import RUN_ID, about, night

WILD = {
    1: "**Not bold** _not slanted_ ~~not struck~~ `not code` ||not hidden|| $not$ # no heading",
    2: "<!channel> <@U012AB3CD> @everyone @here @channel <at>ada</at> <@123456789012345678> @room look here",
    3: "[not a link](https://evil.example/x) https://evil.example/y www.evil.example <https://evil.example|z>",
    4: "<b>no tag</b> &lt;no entity&gt; & <script>alert(1)</script> <!-- gone -->",
    5: "会议改到周五下午三点，地点不变；请带上“旧图纸”。" * 6,
    6: "👨‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🇫🇮👍🏽❤️‍🔥 :smile: :100: क्षत्रिय 한국어 e\u0301\u0323 ",
    7: "- no item 1. no number > no quote\n# no heading\n```no fence```\r\n\tends",
    8: "\\* already \\_ escaped \\` and a lone \\",
    9: "مرحبا \u202eright to left\u202c שלום",
    10: "word" * 90,
}


def _wild_scope(key: int) -> ScopePlan:
    decisions = [
        *(about("reinforce", "reinforced", row, because="1 tool_get: strength 0.200 -> 0.620") for row in (1, 2, 3, 4)),
        *(about("shift", "shifted", row, because="future -> past: anchored at 2026-05-29") for row in (5, 6)),
        *(about("prune", "archived", row, because="strength 0.048 <= 0.05 since *May*") for row in (7, 8, 9, 10)),
        about("associate", "linked", 5, 6, because="shown together in 1 turn: weight 0.410 -> 0.440"),
    ]
    return ScopePlan(
        key=key,
        scope=f'{{"project":"a_b*c*","user":"ada {key}"}}',
        undos=0,
        decisions=tuple(decisions),
        names={row: (f"{row:02d}{'ab' * 31}", text) for row, text in WILD.items()},
        because_nothing=dict.fromkeys(STEPS, "nothing was due"),
    )


TEXTS = {
    1: "Ada takes her tea without milk and reads before breakfast.",
    2: "Dentist on 12 June at 09:15, bring the old X-rays.",
    3: "会议改到周五下午三点,地点不变。",
    4: "An old note about a lunch that nobody asked about again.",
    5: "Ada's sister Eeva lives in Oulu.",
}
DECISIONS = (
    about("reinforce", "reinforced", 1, because="1 agent_feedback_positive: strength 0.412 -> 1.000"),
    about("associate", "linked", 1, 3, because="shown together in 2 turns: weight 0.000 -> 0.278"),
    about("shift", "shifted", 2, because="future -> past: anchored at 2026-05-29"),
    about("prune", "archived", 4, because="strength 0.048 <= 0.05 since 2026-05-29T21:12:00.000Z"),
)
STALE = (about("prune", "archived", 5, because="strength 0.049 <= 0.05"), "the memory has changed since it was read")
ADA = ScopePlan(
    key=1,
    scope='{"project":"atlas","user":"ada"}',
    undos=0,
    decisions=DECISIONS,
    names={row: (f"{row:02d}{'cd' * 31}", text) for row, text in TEXTS.items()},
    because_nothing=dict.fromkeys(STEPS, "nothing was due"),
)
EARLIER = [dict.fromkeys(TOTALS, 0) | {"reinforced": count} for count in (8, 5, 0, 6)]
FULL = "sqlite:///life.db: the store cannot be written: disk full; free some space and run again."


def sound() -> Report:
    """A night like others, all of it done."""
    return build(night(ADA), {1: ScopeOutcome(DECISIONS)}, run_id=RUN_ID, dry_run=False, exit_code=0, history=EARLIER)


def partly() -> Report:
    """A night that left something out."""
    outcomes = {1: ScopeOutcome(DECISIONS, (STALE,))}
    return build(night(ADA), outcomes, run_id=RUN_ID, dry_run=False, exit_code=3)


def quiet() -> Report:
    """Nothing was due."""
    scope = ScopePlan(1, "{}", 0, because_nothing=dict.fromkeys(STEPS, "nothing was due"))
    return build(night(scope), {1: ScopeOutcome()}, run_id=RUN_ID, dry_run=False, exit_code=0)


def preview() -> Report:
    """What a night would do."""
    return build(night(ADA), {}, run_id=None, dry_run=True, exit_code=0)


def failed() -> Report:
    """The store went away before anything was done."""
    return build(night(ADA), {}, run_id=RUN_ID, dry_run=False, exit_code=1, error=FULL)


def wild() -> Report:
    """Three scopes of memories that would be markup, mentions, links and tags, in many scripts."""
    scopes = [_wild_scope(key) for key in (1, 2, 3)]
    outcomes = {scope.key: ScopeOutcome(scope.decisions) for scope in scopes}
    return build(night(*scopes), outcomes, run_id=RUN_ID, dry_run=False, exit_code=0)


def huge() -> Report:
    """Eighty scopes: more than any chat wants to hear."""
    scopes = [_wild_scope(key) for key in range(1, 81)]
    outcomes = {scope.key: ScopeOutcome(scope.decisions) for scope in scopes}
    return build(night(*scopes), outcomes, run_id=RUN_ID, dry_run=False, exit_code=0)


NIGHTS = {"sound": sound, "partly": partly, "quiet": quiet, "failed": failed, "wild": wild}
