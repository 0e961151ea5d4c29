"""A push is taken back by the version before it; the index, the lock and the process."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.errors import ConsolidatorError
from consolidator.sources.lance import lock
from consolidator.sources.lance.flavours import TABLE
from consolidator.sources.lance.table import Table
from consolidator.sources.port import Write
from tests.lives import EVE, day
from tests.sources.lance.acts import merged, told, while_looking, written
from tests.sources.lance_foreign import LanceForeign


def test_a_push_is_taken_back_by_the_version_before(foreign: LanceForeign) -> None:
    """And not where anybody wrote after it, or while it wrote, or where that version is no more."""
    key, other = foreign.add("It is so."), foreign.add("The other.")
    before, _ = told(foreign, key)

    def pushed(meanwhile: Callable[[], object] | None = None) -> tuple[str, str]:
        with foreign.source() as source:
            version = source.version()
            if meanwhile:
                meanwhile()
            assert source.write([Write(key, before, None)])[key].conflict is None
            since = source.version()
        with foreign.source() as source:
            assert (source.version() == since) == (meanwhile is None)
        assert version
        assert since
        return version, since

    def back(version: str, since: str) -> bool:
        with foreign.source() as source:
            return source.go_back(version, since)

    version, since = pushed()
    assert key not in foreign.texts()
    assert back(version, since)
    assert foreign.texts() == {key: "It is so.", other: "The other."}
    assert not back(version, since)
    version, since = pushed()
    foreign.add("Later.")
    assert not back(version, since)
    assert written(foreign, key, None, before) is None
    version, since = pushed(lambda: foreign.add("Meanwhile."))
    assert not back(version, since)
    assert written(foreign, key, None, before) is None
    version, since = pushed()
    number = int(version.split(":")[0])
    (foreign.folder / f"{TABLE}.lance" / "_versions" / f"{2**64 - 1 - number:020}.manifest").unlink()
    assert not back(version, since)


def test_what_is_written_at_the_moment_of_going_back_stays(
    ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LanceDB would throw it away."""
    key = ultra.add("It is so.")
    before, _ = told(ultra, key)
    with ultra.source() as source:
        version = source.version()
        source.write([Write(key, before, None)])
        since = source.version()
        stamp, times = Table.stamp, iter(range(100))

        def stamped(self: Table, number: int) -> str | None:
            found = stamp(self, number)
            if next(times) == 1:
                ultra.add("At this moment.")
            return found

        monkeypatch.setattr(Table, "stamp", stamped)
        assert not source.go_back(version or "", since or "")
    assert [*ultra.texts().values()] == ["At this moment."]


def test_the_index_for_words_is_brought_up_to_date_and_old_versions_stay(foreign: LanceForeign) -> None:
    """Where there is one and much is new; the push can still be taken back by the version before."""
    keys = [foreign.add(f"Number {number} of many.") for number in range(3)]
    foreign.index()
    new = merged()
    with foreign.source() as source:
        like = source.look(keys[:1])[keys[0]]
        version = source.version()
        image = source.render(new, None, like, now=day(EVE)) or {}
        writes = [Write(f"n{n}", None, {**image, "id": f"n{n}", "text": f"Zebra {n}."}) for n in range(30)]
        source.write(writes)
        since = source.version()
    table = foreign.agent().table
    assert [each.num_unindexed_rows for each in table.list_indices()] == [0]
    assert len(table.search("zebra", query_type="fts").limit(50).to_list()) == 30
    with foreign.source() as source:
        assert source.go_back(version or "", since or "")
    assert sorted(foreign.texts()) == sorted(keys)


def test_writing_takes_the_lock_of_memory_lancedb_pro(
    pro: LanceForeign, ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder beside the file that is locked, gone afterwards."""
    key = pro.add("It is so.")
    before, after = told(pro, key, strength=0.2)
    seen: list[bool] = []
    place = pro.folder / ".memory-write.lock.lock"
    while_looking(monkeypatch, lambda _: seen.append(place.is_dir()))
    assert written(pro, key, before, after) is None
    assert seen[0]
    assert not place.exists()
    assert (pro.folder / ".memory-write.lock").is_file()


def test_a_lock_that_nobody_touches_is_taken_and_one_that_is_touched_is_waited_for(tmp_path: Path) -> None:
    """Without a clock: what stands still while it is looked at was left behind."""
    place = tmp_path / ".memory-write.lock.lock"
    place.mkdir()
    with lock.held(tmp_path, stale_seconds=0.05, patience_seconds=20):
        assert place.is_dir()
    assert not place.exists()
    with lock.held(tmp_path, stale_seconds=0.5), pytest.raises(ConsolidatorError, match="another program"):
        lock._take(place, 20.0, 0.2)


APART = """
import sys
from multiprocessing import get_context

def work(url, key):
    from consolidator.sources.choose import open_source
    from consolidator.sources.port import Options, Write
    with open_source(url, Options()) as source:
        before = source.look([key])[key]
        assert [each.id for each in source.read(None).records] == [key]
        assert source.write([Write(key, before, None)])[key].conflict is None
        assert source.write([Write(key, None, before)])[key].conflict is None

if __name__ == "__main__":
    process = get_context("spawn").Process(target=work, args=sys.argv[1:])
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


def test_a_process_that_used_it_ends_by_itself_and_says_nothing(pro: LanceForeign, tmp_path: Path) -> None:
    """In a child that is made as the service makes its own; a warning would end it."""
    key = pro.add("It is so.")
    script = tmp_path / "apart.py"
    script.write_text(APART)
    command = [sys.executable, "-W", "error", str(script), pro.url, key]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
