"""Who did what: a text may not exchange the people, places and numbers of its sources."""

from collections.abc import Collection, Iterator, Sequence

from consolidator.merging.facts import Facts
from consolidator.merging.language import all_of
from consolidator.merging.reading import Bond


def swapped(sources: Sequence[Facts], facts: Facts) -> Iterator[str]:
    """
    What the sources say of others than the text does, in short sentences.

    'Ada lives in Turku' and 'Bo lives in Oulu' do not make 'Ada lives in Oulu', nor 'Ada likes Bo' 'Bo likes Ada'.
    """
    known = {bond for source in sources for bond in source.bonds}
    for bond in facts.bonds:
        if bond not in known and (_mixed(bond, known) or _reversed(bond, known)):
            yield f"the text says '{bond.said}', the sources say it of something else"


def _mixed(bond: Bond, known: Collection[Bond]) -> bool:
    """Both ends are in the sources, each with the same words to another end."""
    first = any(each.one == bond.one and each.between == bond.between for each in known)
    return first and any(each.other == bond.other and each.between == bond.between for each in known)


def _reversed(bond: Bond, known: Collection[Bond]) -> bool:
    """The sources say the same the other way round, and never this way."""
    if any((each.one, each.other) == (bond.one, bond.other) for each in known):
        return False
    words = set(bond.between.split()) - all_of("stop")
    return any(
        (each.one, each.other) == (bond.other, bond.one)
        and (each.between == bond.between or words & set(each.between.split()))
        and _passive(each) == _passive(bond)
        for each in known
    )


def _passive(bond: Bond) -> bool:
    return not all_of("passives").isdisjoint(bond.between.split())
