"""Remembering: what is stored, what is seen again, what comes back."""

from consolidator import Memory

TEXT = "Ada is allergic to penicillin."


def test_once(memory: Memory) -> None:
    """The same text is one memory: said again, it is the one that is here."""
    first, second = memory.remember(TEXT), memory.remember(TEXT)
    assert not first.known
    assert second.known
    assert first.id == second.id
    assert [each.content for each in memory.browse().items] == [TEXT]
