"""The JSON form of a report: what `run --json` prints, what the store keeps, and the way back."""

import json
import re
from collections.abc import Mapping
from typing import Any

from consolidator.asked import NOTHING_ASKED, Asked
from consolidator.errors import BadInput
from consolidator.instants import format_instant, parse_instant
from consolidator.plan import STEPS
from consolidator.report.report import Example, Report, ScopeReport, StepReport, whole_totals
from consolidator.report.tame import HARMFUL, NAME_LENGTH, TEXT_LENGTH, one_line, short

_HARMFUL = re.compile(f"[{HARMFUL}]")


def as_json(report: Report) -> dict[str, Any]:
    """The document of a report; `from_json` gives the same report back."""
    return {
        "run_id": report.run_id,
        "as_of": format_instant(report.as_of),
        "dry_run": report.dry_run,
        "exit": report.exit_code,
        "error": report.error,
        "steps": list(report.steps),
        "time_zone": report.time_zone,
        "totals": dict(report.totals),
        **({"worded": asked_document(report.worded)} if report.worded.calls else {}),
        "scopes": [
            {
                "scope": dict(scope.scope),
                "steps": {
                    step.step: {
                        "counts": dict(step.counts),
                        "seen": step.seen,
                        "examples": list(map(_example_document, step.examples)),
                        "because_nothing": step.because_nothing,
                        "notes": list(step.notes),
                        **_merging_document(step),
                    }
                    for step in scope.steps
                },
                "stale": list(map(_example_document, scope.stale)),
                "notes": list(scope.notes),
            }
            for scope in report.scopes
        ],
        "comparison": {
            "nights": len(report.earlier),
            "average": dict(report.average),
            "earlier": [dict(night) for night in report.earlier],
        }
        if report.earlier
        else None,
    }


def from_json(document: Mapping[str, Any]) -> Report:
    """The report of a stored document. BadInput where it is none."""
    try:
        return Report(
            run_id=document["run_id"],
            as_of=parse_instant(document["as_of"]),
            dry_run=bool(document["dry_run"]),
            exit_code=int(document["exit"]),
            totals=whole_totals(document["totals"]),
            scopes=tuple(map(_scope, document["scopes"])),
            earlier=tuple(map(whole_totals, (document.get("comparison") or {}).get("earlier", ()))),
            error=short(document.get("error")),
            steps=steps_of(document),
            time_zone=str(document.get("time_zone", "UTC")),
            worded=_asked(document.get("worded")) or NOTHING_ASKED,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"the stored report cannot be read ({error!r}); `consolidate runs` still lists its run"
        ) from None


def steps_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The steps that a run was asked for; of an older document those that it tells of, all where it tells of none."""
    asked = document.get("steps") or {step: None for scope in document["scopes"] for step in scope["steps"]} or STEPS
    return tuple(one_line(step, NAME_LENGTH) for step in asked)


def without_texts(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with counts and reasons for nothing only: what may leave the machine below `detailed`."""
    scopes = [
        {
            "scope": scope["scope"],
            "steps": {
                step: {name: part[name] for name in ("counts", "seen", "because_nothing", "asked") if name in part}
                for step, part in scope["steps"].items()
            },
        }
        for scope in document["scopes"]
    ]
    return {**document, "scopes": scopes}


def dumps(document: Mapping[str, Any]) -> str:
    """JSON text in which whatever could harm a terminal is escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return _HARMFUL.sub(lambda match: "\n" if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _merging_document(step: StepReport) -> dict[str, Any]:
    """What only the merge step tells."""
    if step.asked is None:
        return {}
    return {
        "groups": list(map(_example_document, step.groups)),
        "all_groups": step.all_groups,
        "asked": asked_document(step.asked),
    }


def asked_document(asked: Asked) -> dict[str, Any]:
    """What was asked, as JSON."""
    named = {name: getattr(asked, name) for name in Asked.__slots__}
    return {**named, "waiting": dict(asked.waiting), "failures": list(asked.failures)}


def _example_document(example: Example) -> dict[str, Any]:
    document: dict[str, Any] = {"verb": example.verb, "id": example.id, "text": example.text}
    if example.members:
        document["members"] = [{"id": name, "text": text} for name, text in example.members]
    if example.guard:
        document["guard"] = list(example.guard)
    if example.other_id is not None:
        document |= {"other_id": example.other_id, "other_text": example.other_text}
    document["because"] = example.because
    if example.why_left_out is not None:
        document["why_left_out"] = example.why_left_out
    return document


def _example(document: Mapping[str, Any]) -> Example:
    return Example(
        verb=document["verb"],
        because=one_line(document["because"]),
        id=document["id"],
        text=short(document["text"], TEXT_LENGTH),
        other_id=document.get("other_id"),
        other_text=short(document.get("other_text"), TEXT_LENGTH),
        why_left_out=short(document.get("why_left_out")),
        members=tuple((each["id"], one_line(each["text"], TEXT_LENGTH)) for each in document.get("members", ())),
        guard=tuple(map(one_line, document.get("guard", ()))),
    )


def _asked(document: Mapping[str, Any] | None) -> Asked | None:
    if document is None:
        return None
    known = {name: document[name] for name in Asked.__slots__ if name in document}
    return Asked(**{**known, "failures": tuple(map(one_line, known.get("failures", ())))})


def _scope(document: Mapping[str, Any]) -> ScopeReport:
    return ScopeReport(
        scope=dict(document["scope"]),
        steps=tuple(
            StepReport(
                step=step,
                counts={verb: int(count) for verb, count in part["counts"].items()},
                seen=int(part.get("seen", 0)),
                examples=tuple(map(_example, part.get("examples", ()))),
                because_nothing=short(part.get("because_nothing")),
                notes=tuple(map(one_line, part.get("notes", ()))),
                groups=tuple(map(_example, part.get("groups", ()))),
                all_groups=int(part.get("all_groups", 0)),
                asked=_asked(part.get("asked")),
            )
            for step, part in document["steps"].items()
        ),
        stale=tuple(map(_example, document.get("stale", ()))),
        notes=tuple(map(one_line, document.get("notes", ()))),
    )
