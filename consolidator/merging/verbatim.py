"""What has to stay letter by letter: addresses, paths, code, identifiers, versions, phone numbers, tags."""

import re
from typing import NamedTuple

from consolidator.merging.times import clock, date
from consolidator.merging.tokens import HIDDEN

_HINT = re.compile(r"[@/\\`_#+(]|[0-9][.-][0-9]|[0-9a-fA-F]{7}|[^\W\d_]\.[^\W\d_]|[A-Z0-9]-[0-9]|\b[vV][0-9]")
_PATTERNS = {
    "code": r"```.*?```|`[^`\n]+`|(?<![\w.])[A-Za-z_][\w.]*\(\)",
    "URL": r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s<>\"]+|\bwww\.[^\s<>\"]+"
    r"|(?<![\w@./-])(?:[a-zA-Z0-9-]+\.)+[a-z]{2,10}/[^\s<>\"]*",
    "e-mail": r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "stamp": r"\b[12][0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
    r"(?:Z|[+-][0-2][0-9]:?[0-5][0-9])?(?![0-9])",
    "uuid": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "path": r"(?<![\w.:/])(?:~|\.{1,2})?/[\w@%+~-][\w.@%+~-]*(?:/[\w.@%+~-]+)*/?|\b[A-Za-z]:\\[^\s\"<>|]*"
    r"|(?<![\w./@-])[\w.-]{1,200}(?:/[\w.-]{1,200}){0,50}/[\w-]+\.[a-zA-Z][a-zA-Z0-9]{0,5}\b",
    "phone": r"(?<![\w.+])\+[0-9](?:[ ()./-]{0,2}[0-9]){6,14}(?![\w-])"
    r"|(?<![\w.-])\(?[0-9]{3}\)?[ -][0-9]{3}[ -][0-9]{4}(?![\w-])|(?<![\w.,-])[0-9]{3}-[0-9]{4}(?![\w-])",
    "version": r"(?<![\w.,-])v?[0-9]+(?:\.[0-9]+){2,}(?:[-+][0-9A-Za-z][\w.-]*)?(?<![.-])(?![\w,])"
    r"|(?<![\w.-])[vV][0-9]+(?:\.[0-9]+)*\b",
    "hash": r"(?<![\w.-])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,128}(?![\w-])",
    "ticket": r"(?<![\w-])[A-Z][A-Z0-9]{0,9}-[0-9]+[A-Za-z]?(?![\w-])",
    "tag": r"(?<![\w&/])#\w+",
    "handle": r"(?<![\w.@])@[A-Za-z_][\w.-]*\b",
    "name": r"(?<![\w.@-])(?:[A-Za-z0-9_-]{2,}\.)+(?:[a-z][a-z0-9]{0,9})(?![\w@-])(?!\.\w)",
}
_KINDS = {
    "uuid": "identifier", "version": "identifier", "hash": "identifier", "ticket": "identifier", "tag": "identifier",
    "handle": "identifier", "name": "identifier", "phone": "phone number",
}  # fmt: skip
_ANY = re.compile(
    "|".join(f"(?P<{name.replace('-', '_')}>{pattern})" for name, pattern in _PATTERNS.items()), re.DOTALL
)
_DATED = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2})|[12][0-9]{3}\.[0-9]{1,2}\.[0-9]{1,2}")
_GROUPS_OF_THREE = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}")
_STAMP = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)[T ]([0-9]+):([0-9]+)(:[0-9]+)?(.*)", re.DOTALL)


class Verbatim(NamedTuple):
    """What was found: kind, its value for comparison, as it is written, and where it begins."""

    kind: str
    value: str
    said: str
    start: int


def read_verbatim(text: str) -> tuple[list[Verbatim], str]:
    """What a folded text has of these, and the text with it hidden, of the same length."""
    if not _HINT.search(text):
        return [], text
    found: list[Verbatim] = []
    pieces: list[str] = []
    end = 0
    for match in _ANY.finditer(text):
        group, said, start = match.lastgroup or "", match[0], match.start()
        if group in ("URL", "path"):
            said = _without_end(said)
        if not said or not _holds(group, said):
            continue
        if group == "stamp":
            found.extend(_stamp(said, start))
        else:
            name = group.replace("e_mail", "e-mail")
            found.append(Verbatim(_KINDS.get(name, name), _value(group, said), said, start))
        pieces += text[end:start], HIDDEN * len(said)
        end = start + len(said)
    return found, "".join(pieces) + text[end:]


def _without_end(said: str) -> str:
    """Without the marks of the sentence around it; a bracket stays if it was opened inside."""
    while said and (
        said[-1] in ".,;:!?'\""
        or (said[-1] in ")]}" and said.count(said[-1]) > said.count("([{"[")]}".index(said[-1])]))
    ):
        said = said[:-1]
    return said


def _holds(group: str, said: str) -> bool:
    if group == "version":
        return not _DATED.fullmatch(said) and not _GROUPS_OF_THREE.fullmatch(said)
    if group == "name":
        return any(letter.isalpha() for letter in said.rpartition(".")[0])
    return True


def _value(group: str, said: str) -> str:
    if group == "URL":
        scheme, mark, rest = said.rpartition("://") if "://" in said else ("", "", said)
        host, slash, path = rest.partition("/")
        return f"{scheme.lower()}{mark}{host.lower()}{slash}{path}".rstrip("/")
    if group == "code":
        return said.strip("`").strip()
    if group == "path":
        return said.rstrip("/") or said
    if group == "phone":
        return re.sub(r"[^0-9+]", "", said)
    return said.lower()


def _stamp(said: str, start: int) -> list[Verbatim]:
    match = _STAMP.fullmatch(said)
    assert match is not None
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    zone = match[7] if match[7] in ("", "Z") or "." not in match[7] else match[7].lstrip(".0123456789")
    facts = [Verbatim("date", date(year, month, day), said, start)]
    facts.append(Verbatim("time", clock(hour, minute, match[6] or "") + zone.replace("Z", " utc"), said, start))
    return facts
