"""The port's own contract, over every source: what it reads, renders and writes, without a store of ours."""

from consolidator.sources.port import Item, Ours, Source, Write
from tests.lives import EVE, T0, day
from tests.sources.foreign import Foreign

TEXTS = ("The cat sleeps on the warm radiator.", "Åsa lives in Turku 🦉", "The tram to the harbour is line six.")


def filled(foreign: Foreign) -> list[str]:
    """The ids of some records."""
    return [foreign.add(text) for text in TEXTS]


def items_of(source: Source) -> dict[str, Item]:
    return {each.id: each for each in source.read(None).records if isinstance(each, Item)}


def ours_of(source: Source, item: Item, **more: object) -> Ours:
    """A memory as a push tells it that holds just what was read."""
    line = item.memory
    told = Ours(line.id, line.scope or "{}", line.content, line.type, line.created_at, 0.5, importance=line.importance,
                pinned=line.pinned, topics=tuple(line.topics or ()))  # fmt: skip
    return Ours(**{name: more.get(name, getattr(told, name)) for name in Ours.__slots__})


def test_a_reading_tells_each_record_with_the_fingerprint_of_its_image(foreign: Foreign) -> None:
    """And `look` finds them all."""
    ids = filled(foreign)
    with foreign.source() as source:
        items = items_of(source)
        images = source.look(ids)
        assert {key: items[key].memory.content for key in ids} == foreign.texts()
        assert {key: items[key].fingerprint for key in ids} == {key: source.fingerprint(images[key]) for key in ids}
        assert source.look(["no such record"]) == {}


def test_a_use_changes_no_fingerprint(foreign: Foreign) -> None:
    """Counters are not what a person decides."""
    ids = filled(foreign)
    with foreign.source() as source:
        before = {key: item.fingerprint for key, item in items_of(source).items()}
    foreign.use(ids[0])
    with foreign.source() as source:
        assert {key: item.fingerprint for key, item in items_of(source).items()} == before


def test_what_was_rendered_and_written_is_rendered_as_it_is(foreign: Foreign) -> None:
    """So that a push that says nothing new writes nothing; a reading tells the fingerprint that the write told."""
    ids = filled(foreign)
    with foreign.source() as source:
        item = items_of(source)[ids[0]]
        ours = ours_of(source, item, strength=0.25, consolidated=True)
        before = source.look(ids)[ids[0]]
        after = source.render(ours, before, None, now=day(EVE))
        assert after is not None
        done = source.write([Write(ids[0], before, after)])[ids[0]]
        assert done.conflict is None
        there = source.look(ids)[ids[0]]
        assert source.fingerprint(there) == done.fingerprint == items_of(source)[ids[0]].fingerprint
        assert source.render(ours, there, None, now=day(EVE)) == there


def test_what_was_removed_is_written_back_as_it_was(foreign: Foreign) -> None:
    """From its image, and the rest stays what it is."""
    ids = filled(foreign)
    rest, texts = foreign.rest(), foreign.texts()
    with foreign.source() as source:
        before = source.look(ids)[ids[1]]
        assert source.write([Write(ids[1], before, None)])[ids[1]].fingerprint is None
        assert source.look([ids[1]]) == {}
        assert ids[1] not in foreign.texts()
        source.write([Write(ids[1], None, before)])
        assert source.look([ids[1]])[ids[1]] == before
    assert (foreign.rest(), foreign.texts()) == (rest, texts)


def test_what_was_edited_meanwhile_is_left_alone(foreign: Foreign) -> None:
    """A write is only made over what its `before` says."""
    ids = filled(foreign)
    with foreign.source() as source:
        before = source.look(ids)[ids[2]]
        foreign.edit(ids[2], "The tram to the harbour is line nine.")
        done = source.write([Write(ids[2], before, None)])[ids[2]]
        assert done.conflict
    assert "The tram to the harbour is line nine." in foreign.texts().values()


def test_a_new_record_has_the_same_id_each_time(foreign: Foreign) -> None:
    """And is none of those that are there."""
    ids = filled(foreign)
    with foreign.source() as source:
        item = items_of(source)[ids[0]]
        ours = ours_of(source, item, id="f" * 64, content="Something new.", created_at=T0)
        assert source.new_id(ours) == source.new_id(ours)
        assert source.new_id(ours) not in ids
