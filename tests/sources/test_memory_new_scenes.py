"""memory-new's scenes, their index, and the persona."""

import json

from consolidator.sources.port import Write
from tests.lives import T0
from tests.sources.memory_new_acts import NOW, back, bad, foreign, items, ours, push, quick
from tests.sources.memory_new_foreign import MemoryNewForeign

__all__ = ["foreign", "quick"]


def two_scenes(foreign: MemoryNewForeign) -> tuple[str, str]:
    one = foreign.scene("scene_1772355600000_aaaaaaa", "家", ["The cat sleeps.", "The tram is late."])
    other = foreign.scene("scene_1772355700000_bbbbbbb", "家", ["The cat sleeps."], at=T0 + 10**8)
    foreign.scene("scene_1772355800000_ccccccc", "工作", ["The report is due."], at=T0 + 2 * 10**8)
    return one, other


def test_scenes_and_the_persona_are_pinned_memories(foreign: MemoryNewForeign) -> None:
    """Without what their generator counts and dates, so that the same scene made twice says the same."""
    one, other = two_scenes(foreign)
    foreign.persona("# Agent Self-Model\n\n- Åsa likes tea.\n\n---\nGenerated: 2026-03-01T09:00:00.000Z\n")
    read = items(foreign)
    assert (
        read[one].memory.content
        == "# 家\n\n## Key Points\n- [episodic] The cat sleeps.\n- [episodic] The tram is late."
    )
    assert (read[one].memory.type, read[one].memory.topics, read[one].memory.scope) == ("scene", ["家"], "{}")
    assert read["persona"].memory.content == "# Agent Self-Model\n\n- Åsa likes tea."
    assert read["persona"].memory.type == "persona"
    assert all(item.memory.pinned for item in read.values())
    assert read[other].memory.created_at == T0 + 10**8


def test_a_scene_that_was_merged_away_leaves_the_index_too(foreign: MemoryNewForeign) -> None:
    """The other stays under its id, and all of it comes back as it was."""
    one, other = two_scenes(foreign)
    rest = foreign.rest()
    write = push(foreign, other, ours(type="scene", status="superseded"))
    assert write.after is None
    index = foreign.base / "memory/scenes/index.json"
    assert list(json.loads(index.read_text())) == ["scene_1772355600000_aaaaaaa", "scene_1772355800000_ccccccc"]
    assert not (index.parent / "scene_1772355700000_bbbbbbb.md").exists()
    assert {one, other} & items(foreign).keys() == {one}
    back(foreign, write)
    assert foreign.rest() == rest
    assert push(foreign, one, ours(type="scene")).after == push(foreign, one, ours(type="scene")).before
    assert foreign.rest() == rest


def test_a_merged_scene_is_one_of_theirs(foreign: MemoryNewForeign) -> None:
    """With the title and tags of its source, in the index, and read as what it is."""
    one, _ = two_scenes(foreign)
    rest = foreign.rest()
    memory = ours("# 家\n\nThe cat sleeps 🐈.", type="scene", scope="{}")
    with foreign.source() as source:
        key = source.new_id(memory)
        image = source.render(memory, None, source.look([one])[one], now=NOW)
        assert source.write([Write(key, None, image)])[key].conflict is None
    name = key.removeprefix("scene:")
    text = (foreign.base / f"memory/scenes/{name}.md").read_text()
    assert text == (
        f'---\nid: {name}\ntitle: 家\nsummary: 平均优先级: 80\ntags: ["家"]\ncreated_at: 2026-03-01T09:00:00.000Z\n'
        "updated_at: 2026-03-01T09:00:00.000Z\n---\n\n# 家\n\nThe cat sleeps 🐈.\n"
    )
    index = json.loads((foreign.base / "memory/scenes/index.json").read_text())
    assert index[name] == {"id": name, "title": "家", "summary": "平均优先级: 80", "tags": ["家"]}
    assert items(foreign)[key].memory.content == memory.content
    back(foreign, Write(key, None, image))
    assert foreign.rest() == rest


def test_a_scene_that_was_edited_is_left_alone(foreign: MemoryNewForeign) -> None:
    """And so is its place in the index."""
    one, _ = two_scenes(foreign)
    with foreign.source() as source:
        before = source.look([one])[one]
        foreign.write(str(before["file"]), str(before["text"]) + "By hand.\n")
        rest = foreign.rest()
        assert source.write([Write(one, before, None)])[one].conflict == "was edited over there meanwhile"
    assert foreign.rest() == rest


def test_what_the_agent_reads_as_no_page_is_none(foreign: MemoryNewForeign) -> None:
    """Pages without a frontmatter; the early place of the persona counts where there is no later one."""
    foreign.write("memory/scenes/notes.md", "# Notes of a person\n")
    foreign.write("persona.md", "---\nid: persona_1772355600000\n---\n\nEarly.\n")
    assert {key: (item.memory.content, item.memory.created_at) for key, item in items(foreign).items()} == {
        "persona": ("Early.", T0)
    }
    foreign.persona("Late.\n")
    assert items(foreign)["persona"].memory.content == "Late."
    (foreign.base / "memory/persona.md").write_bytes(b"---\nid: x\n---\n\n\xff\n")
    assert bad(foreign) == ["memory/persona.md: text: is not UTF-8"]


def test_an_index_that_nobody_understands_is_left_alone(foreign: MemoryNewForeign) -> None:
    """Reading tells of it, and the scene is a conflict."""
    one, _ = two_scenes(foreign)
    foreign.write("memory/scenes/index.json", '{"cut')
    rest = foreign.rest()
    with foreign.source() as source:
        assert source.read(None).notes == ("memory/scenes/index.json is no JSON object",)
        done = source.write([Write(one, source.look([one])[one], None)])[one]
    assert done.conflict == "is a scene, and memory/scenes/index.json is no JSON object; mend it"
    assert foreign.rest() == rest


def test_whoever_forgets_the_persona_removes_its_file(foreign: MemoryNewForeign) -> None:
    """It is written back as it was."""
    foreign.persona("Åsa likes tea.\r\n")
    rest = foreign.rest()
    with foreign.source() as source:
        image = source.look(["persona"])["persona"]
        assert source.render(ours(type="persona", content="Åsa likes tea."), image, None, now=NOW) == image
        source.write([Write("persona", image, None)])
        assert not (foreign.base / "memory/persona.md").exists()
        source.write([Write("persona", None, image)])
    assert foreign.rest() == rest
