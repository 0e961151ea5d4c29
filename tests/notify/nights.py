"""Nights to tell of: those of the reports, a sound one, and one whose memories try everything."""

from consolidator.plan import STEPS, ScopeOutcome, ScopePlan
from consolidator.report import Report, build
from tests.report import nights
from tests.report.nights import DECISIONS, HISTORY, RUN_ID, about, night

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


def sound() -> Report:
    """A night like others, all of it done."""
    scope = ScopePlan(1, nights.ADA.scope, 0, DECISIONS, names=nights.ADA.names, unlinked=1)
    outcomes = {1: ScopeOutcome(DECISIONS, (), 1)}
    return build(night(scope), outcomes, run_id=RUN_ID, dry_run=False, exit_code=0, history=HISTORY)


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


NIGHTS = {"busy": nights.busy, "sound": sound, "quiet": nights.quiet, "failed": nights.failed, "wild": wild}
