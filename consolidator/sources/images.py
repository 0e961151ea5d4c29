"""
Images as they are kept of a push: whole of a record that is made or removed, of another one what is changed in it.

So a push that tells every strength keeps a number of each record, and not its vector twice.
"""

from collections.abc import Mapping
from typing import Any

from consolidator.sources.planned import Step
from consolidator.sources.port import Image, Source
from consolidator.store.pushes import Kept

Fields = Mapping[str, Any]
_FINGERPRINT, _FIELDS = "fingerprint", "fields"


def kept_of(source: Source, step: Step, before: Image | None, after: Image | None) -> Kept:
    """What is kept of a write that is to be made."""
    if before is None or after is None:
        return Kept(step.id, step.key, before, after, False)
    old, new = differing(before, after)
    return Kept(
        step.id,
        step.key,
        {_FINGERPRINT: source.fingerprint(before), _FIELDS: old},
        {_FINGERPRINT: source.fingerprint(after), _FIELDS: new},
        False,
    )


def was(source: Source, kept: Kept) -> str | None:
    """The fingerprint of a record before a push; None: there was none."""
    return _fingerprint(source, kept, kept.before)


def became(source: Source, kept: Kept) -> str | None:
    """The fingerprint of a record after a push; None: it was removed."""
    return _fingerprint(source, kept, kept.after)


def before_over(there: Image | None, kept: Kept) -> Image | None:
    """A record as it was before a push, over what it is now: what the push did not change is as it is now."""
    if kept.before is None or kept.after is None or there is None:
        return kept.before
    return _given_back(there, kept.before[_FIELDS], kept.after[_FIELDS])


def differing(before: Fields, after: Fields) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of two documents differs, in each of them, however deep; a name that only one has is only there."""
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    for name in before.keys() | after.keys():
        one, other = before.get(name), after.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            deep_old, deep_new = differing(one, other)
            if deep_old or deep_new:
                old[name], new[name] = deep_old, deep_new
        elif one != other or (name in before) != (name in after):
            old |= {name: one} if name in before else {}
            new |= {name: other} if name in after else {}
    return old, new


def _given_back(there: Fields, old: Fields, new: Fields) -> dict[str, Any]:
    given = {name: value for name, value in there.items() if name in old or name not in new}
    for name, value in old.items():
        now, changed = there.get(name), new.get(name)
        if isinstance(value, Mapping) and isinstance(now, Mapping) and isinstance(changed, Mapping):
            given[name] = _given_back(now, value, changed)
        else:
            given[name] = value
    return given


def _fingerprint(source: Source, kept: Kept, image: Image | None) -> str | None:
    if image is None:
        return None
    if kept.before is not None and kept.after is not None:
        return str(image[_FINGERPRINT])
    return source.fingerprint(image)
