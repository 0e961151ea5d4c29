"""Keyword search finds the same memories on both stores, in every script, and follows every change of the rows."""

import hashlib
import random
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from consolidator.store.engine import Store, open_store
from consolidator.store.search import search_keys, searchable
from consolidator.store.tables import identities, memories, scopes
from consolidator.words import words

TEXTS = {
    1: "Ada prefers window seats on night trains",
    2: "我喜欢喝咖啡,不喜欢喝茶",
    3: "明日は東京で会議があります。コーヒーも飲む",
    4: "학교에서 친구를 만났다",
    5: "วันนี้ไปตลาดน้ำ",
    6: "Birthday cake 🎂 for Ada 👍🏽 from 🇫🇮",
    7: "Päivä saunassa, LÖYLY hyvää; Straße, Ёлка",
    8: "e.g. U.S.A. a-b snake_case https://x.y/z?q=1#top 3.14 me@example.org C++ <b>bold</b>",
    9: "नमस्ते दुनिया",
    10: 'NEAR AND OR NOT "quoted" col:umn *star ^caret (paren) it\'s',
    11: "1️⃣ first ❤️ love ☕",
    12: "rare 𠀀𠀁 and 𝕞𝕒𝕥𝕙 and ﬁne ＷＩＤＥ ｶﾀｶﾅ",
    13: "2026-05-30 at 12:30, 10,000 steps, flight AY1337, v1.2",
    14: "the trains of the night have no seats by a window; Ada knows",
}


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A store of two scopes; the texts are in the first."""
    with open_store(store_url, mode="create") as store:
        with store.write() as connection:
            connection.execute(sa.insert(scopes), [{"key": 1, "scope": "{}"}, {"key": 2, "scope": '{"a":"b"}'}])
        put(store, TEXTS)
        yield store


def put(store: Store, texts: dict[int, str], *, scope: int = 1, **values: object) -> None:
    with store.write() as connection:
        for key, text in texts.items():
            digest = hashlib.sha256(text.encode()).hexdigest()
            connection.execute(sa.insert(identities).values(key=key, scope_key=scope, hash=digest))
            row = {"key": key, "scope_key": scope, "content": text, "words": searchable(text)}
            row |= {"type": "fact", "source": "import", "created_at": 0, "base_at": 0, "strength_at": 0}
            connection.execute(sa.insert(memories).values(row | {"base_strength": 1, "strength": 1} | values))


def found(store: Store, query: str, scope: int | None = 1, limit: int = 100, **options: object) -> list[int]:
    with store.read() as connection:
        return [key for key, _ in search_keys(connection, query, scope, limit, **options)]


HELD = {
    "window seats": [1],
    "咖啡": [2],
    "喝茶": [2],
    "东京": [],
    "東京": [3],
    "コーヒー": [3],
    "会議": [3],
    "친구": [4],
    "학교에서": [4],
    "ตลาด": [5],
    "วันนี้": [5],
    "🎂": [6],
    "👍": [6],
    "👍🏿": [6],
    "🇫🇮": [6],
    "paiva": [7],
    "PÄIVÄ": [7],
    "Päivä": [7],
    "löyly HYVAA": [7],
    "strasse": [7],
    "елка": [7],
    "USA": [],
    "u.s.a.": [8],
    "snake_case": [8],
    "https://x.y/z?q=1#top": [8],
    "me@example.org": [8],
    "bold": [8],
    "नमस्ते": [9],
    "नमस": [],
    "AND": [10, 12],
    "OR NOT": [10],
    '"quoted"': [10],
    "col:umn": [10],
    "*star": [10],
    "^caret": [10],
    "(paren": [10],
    "it's": [10],
    "❤": [11],
    "❤️": [11],
    "☕": [11],
    "𠀁": [12],
    "math": [12],
    "fine wide": [12],
    "カタカナ": [12],
    "2026-05-30": [13],
    "12:30": [13],
    "10,000": [13],
    "ay1337": [13],
    "v1.2": [13],
}


def test_what_is_written_is_found(store: Store) -> None:
    """By its words in any case, width and accents; by a part of it, where words have no spaces between them."""
    for query, keys in HELD.items():
        assert sorted(key for key, rank in ranked(store, query) if rank >= 3) == keys, query


def ranked(store: Store, query: str) -> list[tuple[int, float]]:
    with store.read() as connection:
        return search_keys(connection, query, None, 100)


ODD = [
    "", " ", '"', "''", "*", "AND", "NOT", "NEAR(", 'NEAR("a" "b", 2)', "a AND", "-a", "a:b", "content:ada", "{a b}:c",
    "^", "+", "(", ")", '"a', "a*", "%", "_", "\\", ";--", "a & b | !c <-> d:*", "'a' <-> 'b'", "\x00", "\ud800", "🏽",
    "a" * 5000, "好" * 5000, "".join(map(chr, range(0x4E00, 0x6000))), "a b " * 5000, "\u0301", "\u200d",
    " ".join(f"w{number}" for number in range(5000)),
]  # fmt: skip


def test_a_query_is_words_and_never_operators(store: Store) -> None:
    """Whatever is asked is answered without an error, best first."""
    for query in ODD:
        ranks = [rank for _, rank in ranked(store, query)]
        assert ranks == sorted(ranks, reverse=True)
        assert all(1 <= rank < 4 for rank in ranks)


def test_a_phrase_comes_before_all_words_and_all_before_any(store: Store) -> None:
    """The rank says which it was."""
    ranks = dict(ranked(store, "night trains"))
    assert 3 <= ranks[1] < 4
    assert 2 <= ranks[14] < 3
    assert found(store, "night trains") == [1, 14]
    assert 1 <= dict(ranked(store, "ada drinks coffee"))[1] < 2
    assert found(store, "喜欢咖啡") == [2]


def test_a_search_keeps_to_its_scope_its_limit_and_its_statuses(store: Store) -> None:
    """No scope means every scope; no status every status."""
    put(store, {20: "Ada sails", 21: "Ada swims"}, scope=2)
    put(store, {22: "Ada naps"}, status="archived")
    assert sorted(found(store, "ada", None)) == [1, 6, 14, 20, 21, 22]
    assert sorted(found(store, "ada", 2)) == [20, 21]
    assert found(store, "ada", 3) == []
    assert sorted(found(store, "ada", statuses=["active"])) == [1, 6, 14]
    assert found(store, "ada", statuses=["archived"]) == [22]
    assert found(store, "ada", statuses=[]) == []
    assert len(found(store, "ada", None, 2)) == 2
    assert found(store, "ada", None, 0) == []


def test_equal_matches_come_in_the_order_of_their_keys(store: Store) -> None:
    """So that a search says the same every time."""
    put(store, {40: "zebra one", 38: "zebra two", 39: "zebra six"})
    assert found(store, "zebra") == [38, 39, 40]


def test_the_index_follows_every_change(store: Store) -> None:
    """Rows added, changed in content or words, replaced and removed, also many at once and taken back."""

    def change(statement: sa.Executable) -> None:
        with store.write() as connection:
            connection.execute(statement)

    put(store, {30: "a quokka"})
    assert found(store, "quokka") == [30]
    this = memories.c.key == 30
    change(sa.update(memories).where(this).values(strength=0.5, revision=3))
    assert found(store, "quokka") == [30]
    change(sa.update(memories).where(this).values(content="a wombat"))
    assert (found(store, "quokka"), found(store, "wombat")) == ([], [30])
    change(sa.update(memories).where(this).values(words="numbat"))
    assert (found(store, "wombat"), found(store, "numbat")) == ([], [30])
    change(sa.update(memories).where(this).values(words=None))
    assert (found(store, "wombat"), found(store, "numbat")) == ([30], [])
    change(sa.update(memories).where(memories.c.key >= 14).values(content="bilby", words=None))
    assert (found(store, "bilby"), found(store, "wombat")) == ([14, 30], [])
    with store.engine.connect() as connection:
        connection.execute(sa.delete(memories).where(this))
        connection.execute(sa.update(memories).values(content="potoroo", words=None))
        connection.rollback()
    assert (found(store, "bilby"), found(store, "potoroo")) == ([14, 30], [])
    change(sa.delete(memories).where(this))
    assert found(store, "bilby") == [14]
    change(sa.delete(memories))
    assert [found(store, text) for text in ("bilby", "ada", "咖啡")] == [[], [], []]


def test_a_replaced_row_is_told_to_the_index(sqlite_url: str) -> None:
    """REPLACE removes the old row without saying so, unless asked to."""
    with open_store(sqlite_url, mode="create") as store:
        with store.write() as connection:
            connection.execute(sa.insert(scopes).values(key=1, scope="{}"))
        put(store, {1: "a quokka"})
        with store.write() as connection:
            names = ", ".join(f'"{column.name}"' for column in memories.c if column.name not in ("content", "words"))
            connection.exec_driver_sql(
                f"REPLACE INTO memories (content, {names}) SELECT 'a wombat', {names} FROM memories"
            )
        assert (found(store, "quokka"), found(store, "wombat")) == ([], [1])


def test_random_changes_leave_the_index_as_a_new_one(store: Store) -> None:
    """After 300 additions, changes and removals every word is found exactly where it is."""
    chosen = random.Random(7)
    vocabulary = ["ada", "tea", "茶", "咖", "päivä", "🎂", "3.14", "ไป", "night"]
    there: dict[int, str] = {}
    with store.write() as connection:
        connection.execute(sa.delete(memories))
    for key in range(100, 250):
        text = " ".join(chosen.choices(vocabulary, k=4)) + f" {key}"
        put(store, {key: text})
        there[key] = text
        with store.write() as connection:
            other, text = chosen.choice(list(there)), " ".join(chosen.choices(vocabulary, k=3))
            if chosen.random() < 0.4:
                connection.execute(sa.delete(memories).where(memories.c.key == other))
                del there[other]
            else:
                values = {"content": text, "words": searchable(text)}
                connection.execute(sa.update(memories).where(memories.c.key == other).values(values))
                there[other] = text
    for word in vocabulary:
        assert sorted(found(store, word)) == sorted(key for key, text in there.items() if word in text.split()), word


LONG = {
    "letters": "x " * 600_000,
    "numbers": "".join(f"{number} " for number in range(300_000)),
    "han": "好" * 700_000,
    "one word": "w" * 3_000_000,
    "accents": "é" * 40_000,
    "emoji": "🎂" * 300_000,
    "words": " ".join(f"w{number:x}" for number in range(250_000)),
}


def test_a_text_of_any_length_can_be_kept(store: Store) -> None:
    """Its beginning is searched; what is beyond the limit of a database is left out, and no error comes of it."""
    for key, text in enumerate(LONG.values(), 50):
        put(store, {key: f"kept first {text}"})
        assert key in found(store, "kept first")


def test_plain_text_is_not_kept_twice() -> None:
    """Where both databases cut a text as we do, its words are the text itself."""
    plain = ["Ada prefers tea.", 'It\'s 10,000 steps (at 12:30); "yes"!', "Two\nlines. Done", "", "  ", "a", "7"]
    assert [searchable(text) for text in plain] == [None] * len(plain)
    others = [
        "U.S.A",
        "a-b",
        "3.14",
        "snake_case",
        "a/b",
        "me@x",
        "v1",
        "1e5",
        "C++",
        "päivä",
        "茶",
        "🎂",
        "a.b",
        "x" * 201,
    ]
    assert None not in [searchable(text) for text in others]


def test_a_text_is_cut_in_time_that_grows_with_its_length() -> None:
    """Also one that is plain up to its very end."""
    assert searchable("a, " * 20_000 + "ä") is not None
    assert searchable("a. (b)! " * 5_000 + "ä") is not None
    assert searchable("a" * 50_000) is not None


@given(st.text(st.sampled_from("aZé9 .,-_'\"!?:;()/@\n茶ไ🎂ß"), max_size=30))
def test_words_are_cut_the_same_however_they_are_written(text: str) -> None:
    """Case does not count, the words of the words are the words, and none has a space or a quote in it."""
    tokens = [token for word in words(text) for token in word]
    assert tokens == [token for word in words(text.upper()) for token in word]
    assert tokens == [token for word in words(" ".join(tokens)) for token in word]
    assert all(token.isalnum() or any(letter.isalnum() for letter in token) for token in tokens)
    assert not any(set(token) & set(" '\"") for token in tokens)


@given(st.text(max_size=50))
def test_any_text_has_words(text: str) -> None:
    """Cutting never fails, and what it gives can be stored."""
    kept = searchable(text)
    assert kept is None or kept == " ".join(token for word in words(text) for token in word)
    if kept is not None and not any("\ud800" <= letter <= "\udfff" for letter in text):
        kept.encode()
