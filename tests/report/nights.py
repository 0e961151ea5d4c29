"""Nights to report on: a busy one, a quiet one, a preview and one that failed."""

from dataclasses import replace
from hashlib import sha256

from consolidator.asked import Asked
from consolidator.instants import parse_instant
from consolidator.plan import STEPS, TOTALS, Decision, Events, Merge, Plan, ScopeOutcome, ScopePlan, Usage
from consolidator.report import Report, build

AS_OF = parse_instant("2026-05-30T03:30:00Z")
RUN_ID = "20260530-033000-7f3a"
TEXTS = {
    1: "Ada takes her tea without milk and reads before breakfast.",
    2: "Dentist on 12 June at 09:15, bring the old X-rays.",
    3: "会议改到周五下午三点,地点不变。",
    4: "Mökillä ei ole nettiä 🏕️ — soita ennen kuin lähdet.",
    5: "The staging server is called “heron”; <b>never</b> restart it on *Fridays* (see https://wiki.example/heron).",
    6: "An old note about a lunch that nobody asked about again.",
    7: "A song she hummed in March.",
    8: "Ada's sister Eeva lives in Oulu.",
    9: "Long story: " + "the boat, the storm, the lighthouse and the cake; " * 40,
}
HISTORY = [
    dict.fromkeys(TOTALS, 0) | {"reinforced": reinforced, "linked": linked, "archived": archived}
    for reinforced, linked, archived in [
        (8, 20, 1),
        (5, 11, 0),
        (0, 0, 0),
        (6, 14, 2),
        (9, 31, 0),
        (4, 8, 1),
        (7, 16, 3),
    ]
]


def names(*keys: int) -> dict[int, tuple[str, str]]:
    """Names as a plan holds them."""
    return {key: (sha256(TEXTS[key].encode()).hexdigest(), TEXTS[key]) for key in keys}


def about(step: str, verb: str, *row: int, because: str, events: Events = Events()) -> Decision:
    """A decision of which only what a report reads is filled in."""
    table = {0: "", 1: "memories", 2: "associations"}[len(row)] if verb != "clock" else "scopes"
    return Decision(step, verb, table, row, 3, {}, {}, because, events=events)


DECISIONS = (
    about("reinforce", "reinforced", 1, because="1 agent_feedback_positive: strength 0.412 -> 1.000"),
    about("reinforce", "reinforced", 3, because="2 tool_search_returned: strength 0.530 -> 0.950"),
    about("reinforce", "reinforced", 5, because="1 agent_feedback_negative: strength 0.700 -> 0.350"),
    about("reinforce", "reinforced", 9, because="1 tool_get; replayed from its base: strength 0.200 -> 0.620"),
    about("reinforce", "", because="2 of 2 name no memory", events=Events(((7, None, None), (8, None, None)))),
    about("decay", "clock", 1, because="last activity 2026-05-29T18:04:00.000Z"),
    about("associate", "linked", 1, 3, because="shown together in 2 turns: weight 0.000 -> 0.278"),
    about("associate", "linked", 3, 5, because="shown together in 1 turn: weight 0.410 -> 0.440"),
    about("associate", "inferred", 1, 5, because="through 3: weight 0.122"),
    about("shift", "shifted", 2, because="future -> past: anchored at 2026-05-29"),
    about("prune", "archived", 6, because="strength 0.048 <= 0.05 since 2026-05-29T21:12:00.000Z"),
    about("prune", "archived", 7, because="expired at 2026-05-30T00:00:00.000Z"),
    about("prune", "revived", 4, because="strength 0.210 > 0.05 again"),
)
MERGE = "nothing came in or was recalled since the last night, and nothing waits"


def merge(
    verdict: str, *texts: str, text: str = "", because: str, guard: tuple[str, ...] = (), how: str = "none"
) -> Merge:
    """A group of memories, and what became of it: all of them went into a text where there is one."""
    ids = tuple(sha256(each.encode()).hexdigest() for each in texts)
    keys = tuple(100 + len(each) for each in texts)
    gone = [key for key, each in zip(keys, texts, strict=True) if each != text]
    decisions = [about("merge", "superseded", key, because=because) for key in gone] if text else []
    target = next((key for key, each in zip(keys, texts, strict=True) if each == text), 99) if text else None
    return Merge(
        keys, ids, texts, (1,) * len(keys), verdict, how, target, text, because, guard, decisions=tuple(decisions)
    )


MERGES = (
    merge(
        "absorb",
        "Ada's sister Eeva lives in Oulu.",
        "ada's sister Eeva lives in Oulu",
        text="Ada's sister Eeva lives in Oulu.",
        because="the same but for its form",
        how="equal",
    ),
    merge(
        "merge",
        "Ada takes her tea without milk.",
        "Ada drinks tea, never with milk, before breakfast.",
        "<b>Tea</b> before *breakfast*: no milk for Ada 🫖",
        text="Ada drinks her tea before breakfast, always without milk 🫖.",
        because="they say the same, and the text holds all of it",
        how="written",
    ),
    merge(
        "update",
        "The repository has 91K stars.",
        "The repository has 100K stars.",
        text="The repository has 100K stars (91K before).",
        because="the newer replaces the older, and the text holds all that stays",
        guard=("number 91K in 1 of 2", "number 100K in 1 of 2"),
        how="written",
    ),
    merge(
        "distinct",
        "Rent is due on the 1st.",
        "Rent was paid on the 1st.",
        because="the model finds them to be different things",
    ),
    merge("rejected", "会议改到周五。", "会议改到周五下午。", because="the number 5 stands in no source"),
    merge(
        "waiting",
        "Backups run nightly.",
        "There are backups every night.",
        because="the budget is spent: merge.budget.calls is 20",
    ),
)
ASKED = Asked(
    clusters=6, waiting={"the budget is spent: merge.budget.calls is 20": 1}, held_back=1, embedded=9, calls=5, kept=1,
    input_tokens=6210, output_tokens=1480, usd=0.00136, model="claude-haiku-5-5", embedder="minilm-l6-int8",
)  # fmt: skip
DEFAULT_BUDGET = "merge.budget is not set, so a night asks at most 20 times: at most $0.05 with claude-haiku-5-5"
ADA = ScopePlan(
    key=1,
    scope='{"project":"atlas","user":"ada"}',
    undos=0,
    decisions=DECISIONS,
    unlinked=1,
    names=names(*TEXTS),
    notes={
        "decay": ("about to fade within 7 nights: 8 “Ada's sister Eeva lives in Oulu.”",),
        "merge": (DEFAULT_BUDGET,),
    },
    merges=MERGES,
    asked=ASKED,
)
EMPTY = ScopePlan(
    key=2,
    scope="{}",
    undos=0,
    because_nothing={
        "reinforce": "no rating is new", "decay": "no activity is new", "associate": "no memory was shown",
        "shift": "nothing was due", "prune": "nothing was due", "merge": MERGE,
    },
)  # fmt: skip
STALE = (
    (
        about("prune", "archived", 8, because="strength 0.049 <= 0.05 since 2026-05-29T23:00:00.000Z"),
        "the memory has changed since it was read",
    ),
)


def night(*scopes: ScopePlan, steps: tuple[str, ...] = STEPS) -> Plan:
    """A plan of these scopes."""
    return Plan("store", AS_OF, steps, scopes)


def busy() -> Report:
    """All verbs, two scopes, a stale decision, a history."""
    outcomes = {
        1: ScopeOutcome(DECISIONS, STALE, 1, ("20,000 archives in a transaction of their own",)),
        2: ScopeOutcome(),
    }
    return build(night(ADA, EMPTY), outcomes, run_id=RUN_ID, dry_run=False, exit_code=3, history=HISTORY)


def quiet() -> Report:
    """Nothing was due."""
    return build(night(EMPTY), {2: ScopeOutcome()}, run_id=RUN_ID, dry_run=False, exit_code=0)


def preview() -> Report:
    """A dry run of three steps."""
    to_ask = merge("waiting", *MERGES[1].texts, because="claude-haiku-5-5 is to be asked about them", how="written")
    to_ask = replace(to_ask, usage=Usage(1, 0, 1900, 4200, 0.00229))
    scope = ScopePlan(
        1,
        ADA.scope,
        0,
        DECISIONS[9:12],
        names=names(2, 6, 7),
        merges=(MERGES[0], to_ask),
        asked=Asked(
            2, expected=True, calls=1, input_tokens=1900, output_tokens=4200, usd=0.00229, model="claude-haiku-5-5"
        ),
    )
    return build(night(scope, steps=("shift", "prune", "merge")), {}, run_id=None, dry_run=True, exit_code=0)


def failed() -> Report:
    """The store went away before the only scope with work was reached."""
    error = "sqlite:///life.db: the store cannot be written: disk full; free some space and run again."
    return build(night(ADA), {}, run_id=RUN_ID, dry_run=False, exit_code=1, error=error)


NIGHTS = {"busy": busy, "quiet": quiet, "preview": preview, "failed": failed}
