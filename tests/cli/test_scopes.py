"""Scopes as people and files write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.scopes import canonical, parse_scope, spell

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@pytest.mark.parametrize(
    ("written", "scope"),
    [
        ("", {}),
        ("{}", {}),
        ("user=ada", {"user": "ada"}),
        ("user=ada,project=atlas", {"user": "ada", "project": "atlas"}),
        (" project = atlas , user=ada ", {"user": "ada", "project": "atlas"}),
        ("user=åsa 🦉,x=a=b", {"user": "åsa 🦉", "x": "a=b"}),
        ("user=", {"user": ""}),
        ('{"user": "a,b"}', {"user": "a,b"}),
    ],
)
def test_written(written: str, scope: dict[str, str]) -> None:
    """A scope is pairs separated by commas, or JSON where a value holds a comma, or nothing."""
    assert parse_scope(written) == scope


@pytest.mark.parametrize(
    "written",
    ["ada", "=ada", "user=ada,", "user=ada,user=eve", "{", "[]", '{"a": 1}', '{"a": "1", "a": "2"}', "user=\udc80",
     '{"a": {"b": "c"}}', "user=a\0"],
)  # fmt: skip
def test_refused(written: str) -> None:
    """What is no scope is refused with what is wrong."""
    with pytest.raises(ValueError, match=r"scope|twice|NUL|Unicode|strings"):
        parse_scope(written)


def test_canonical() -> None:
    """One scope has one text, whatever the order of its pairs."""
    assert canonical({"b": "山", "a": "1"}) == canonical({"a": "1", "b": "山"}) == '{"a":"1","b":"山"}'


@given(st.dictionaries(TEXT, TEXT, max_size=3))
def test_there_and_back(scope: dict[str, str]) -> None:
    """The canonical text of a scope, and a scope as it is spelled, mean that scope."""
    text = canonical(scope)
    assert parse_scope(text) == scope
    assert parse_scope(spell(text)) == scope
