"""Facts: equal however they are written, different where they differ, in every script; a language is a file."""

import json
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging.contained import same_text
from consolidator.merging.facts import facts_of, names_known
from consolidator.merging.fold import fold
from consolidator.merging.language import languages, number
from consolidator.merging.secrets import find_secrets


def found(content: str, *kinds: str, names: frozenset[str] = frozenset()) -> set[tuple[str, str]]:
    """(kind, value) of the facts of these kinds; of all without kinds."""
    return {fact[:2] for fact in facts_of(content, names).found if not kinds or fact.kind in kinds}


def values(content: str, *kinds: str) -> set[str]:
    return {value for _, value in found(content, *kinds)}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("five cats", "5"),
        ("5 cats", "5"),
        ("５ cats", "5"),
        ("٥ قطط", "5"),
        ("五只猫", "5"),
        ("猫が五匹", "5"),
        ("๕ ตัว", "5"),
        ("แมวห้าตัว", "5"),
        ("고양이 다섯 마리", "5"),
        ("fünf Katzen und Hunde", "5"),
        ("Adalla on viisi kissaa", "5"),
        ("twenty-one", "21"),
        ("twenty one", "21"),
        ("二十一", "21"),
        ("Sie hat einundzwanzig Katzen", "21"),
        ("Hänellä on kaksikymmentäyksi kissaa", "21"),
        ("tiene treinta y un gatos", "31"),
        ("two hundred and five", "205"),
        ("one million two hundred thousand", "1200000"),
        ("two thousand five", "2005"),
        ("a dozen", "12"),
        ("two dozen", "24"),
        ("half a dozen", "6"),
        ("half a million", "500000"),
        ("two and a half million", "2500000"),
        ("2.5 million", "2500000"),
        ("91K stars", "91000"),
        ("$5m", "5000000"),
        ("1,000", "1000"),
        ("1,234,567.50", "1234567.5"),
        ("10'000", "10000"),
        ("Es kostet 1.234,50 Euro", "1234.5"),
        ("3.50", "3.5"),
        ("1/2", "0.5"),
        ("5½ cups", "5.5"),
        ("two thirds", "2/3"),
        ("two-thirds", "2/3"),
        ("a third of it", "1/3"),
        ("twice", "2"),
        ("nineteen ninety-nine", "1999"),
        ("the 1990s", "1990s"),
        ("-5 °C", "-5"),
        ("−5 °C", "-5"),
        ("007", "007"),
        ("1.000", "1.000"),
        ("二〇二六个", "2026"),
        ("三万五千", "35000"),
    ],
)
def test_equal_numbers_are_equal_however_they_are_written(content: str, expected: str) -> None:
    """A number has one value, in digits of any script and in words."""
    assert values(content, "number") == {expected}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5 km", {"5 km"}),
        ("5km", {"5 km"}),
        ("five kilometres", {"5 km"}),
        ("5 miles", {"5 mile"}),
        ("5公里", {"5 km"}),
        ("$5", {"5 usd"}),
        ("5 dollars", {"5 usd"}),
        ("USD 5", {"5 usd"}),
        ("€5", {"5 eur"}),
        ("5 €", {"5 eur"}),
        ("A$4.57", {"4.57 aud"}),
        ("五元", {"5 cny"}),
        ("500円", {"500 jpy"}),
        ("5%", {"5 percent"}),
        ("5 per cent", {"5 percent"}),
        ("a 5-year-old", {"5 year"}),
        ("5 years old", {"5 year"}),
        ("90 km/h", {"90 km/h"}),
        ("5-10 km", {"5 km", "10 km"}),
        ("5 to 10 km", {"5 km", "10 km"}),
        ("20 °C", {"20 celsius"}),
        ("20°F", {"20 fahrenheit"}),
    ],
)
def test_a_unit_belongs_to_its_number(content: str, expected: set[str]) -> None:
    """5 km is not 5 miles, $5 not €5; the same unit is the same however it is written."""
    assert values(content, "amount") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("on 2026-06-08", "2026-06-08"),
        ("8 June 2026", "2026-06-08"),
        ("the 8th of June 2026", "2026-06-08"),
        ("June 8th, 2026", "2026-06-08"),
        ("Jun. 8, 2026", "2026-06-08"),
        ("8 June", "????-06-08"),
        ("the eighth of June", "????-06-08"),
        ("in June 2026", "2026-06-??"),
        ("in 2026", "2026-??-??"),
        ("12/06/2026", "12/06/2026"),
        ("25/06/2026", "2026-06-25"),
        ("06/25/2026", "2026-06-25"),
        ("8.6.2026", "2026-06-08"),
        ("6月8日", "????-06-08"),
        ("2026年6月8日", "2026-06-08"),
        ("二〇二六年六月八日", "2026-06-08"),
        ("am 8. Juni 2026 in Turku", "2026-06-08"),
        ("hän tuli 8. kesäkuuta 2026", "2026-06-08"),
        ("el 8 de junio de 2026", "2026-06-08"),
        ("le 8 juin 2026 à Paris", "2026-06-08"),
        ("8 июня 2026", "2026-06-08"),
        ("8 มิถุนายน 2026", "2026-06-08"),
        ("He came in May", "????-05-??"),
    ],
)
def test_a_date_says_what_is_known_of_it(content: str, expected: str) -> None:
    """A date is as full as it is written, and as ambiguous."""
    assert values(content, "date") == {expected}


@pytest.mark.parametrize("content", ["He may come", "They march on", "May I come?", "12,345 people", "in 5 days"])
def test_no_date_is_seen_where_none_is(content: str) -> None:
    """A month that is a word is a month only where a month can stand."""
    assert not values(content, "date")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("at 8:15 pm", {"8:15 pm"}),
        ("at 8.15 p.m.", {"8:15 pm"}),
        ("at 20:15", {"8:15 pm"}),
        ("at 8:15", {"8:15"}),
        ("8 o'clock", {"8:00"}),
        ("eight o'clock", {"8:00"}),
        ("8am", {"8:00 am"}),
        ("half past eight", {"8:30"}),
        ("quarter to nine", {"8:45"}),
        ("at noon", {"12:00 pm"}),
        ("10-11 am", {"10:00 am", "11:00 am"}),
        ("下午三点半", {"3:30 pm"}),
        ("午後8時15分", {"8:15 pm"}),
        ("um 20 Uhr ist es dunkel", {"8:00 pm"}),
        ("tavataan klo 8.15 ja syödään", {"8:15"}),
        ("3時間", set()),
    ],
)
def test_a_clock_time_is_a_time(content: str, expected: set[str]) -> None:
    """A time of day is one however it is written; without a half of the day it may be either."""
    assert values(content, "time") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("on Friday", {("weekday", "5")}),
        ("Fridays", {("weekday", "5")}),
        ("last Friday", {("weekday", "5"), ("relative day", "last weekday 5")}),
        ("星期五", {("weekday", "5")}),
        ("金曜日", {("weekday", "5")}),
        ("am Freitag ist es kalt", {("weekday", "5")}),
        ("yesterday", {("relative day", "day -1")}),
        ("昨天", {("relative day", "day -1")}),
        ("ayer fue al mercado", {("relative day", "day -1")}),
        ("next week", {("relative day", "week +1")}),
        ("3 days ago", {("relative day", "3 day ago")}),
    ],
)
def test_days_are_facts(content: str, expected: set[tuple[str, str]]) -> None:
    """A weekday and a day counted from another are facts, in every language that has a file."""
    assert found(content, "weekday", "relative day") == expected


@pytest.mark.parametrize(
    ("content", "kind", "value"),
    [
        ("mail ada@x.org.", "e-mail", "ada@x.org"),
        ("see https://X.org/A_(b)?c=1.", "URL", "https://x.org/A_(b)?c=1"),
        ("see youtu.be/aBc", "URL", "youtu.be/aBc"),
        ("in /etc/hosts,", "path", "/etc/hosts"),
        ("in ~/notes/a.md", "path", "~/notes/a.md"),
        ("in src/main.py", "path", "src/main.py"),
        (r"in C:\Users\Ada", "path", r"C:\Users\Ada"),
        ("run `make test` now", "code", "make test"),
        ("call open_store()", "code", "open_store()"),
        ("ticket ABC-123", "identifier", "abc-123"),
        ("version v1.2.3", "identifier", "v1.2.3"),
        ("at 10.0.0.1", "identifier", "10.0.0.1"),
        ("commit 9f86d08", "identifier", "9f86d08"),
        ("id 123E4567-e89b-12d3-a456-426614174000", "identifier", "123e4567-e89b-12d3-a456-426614174000"),
        ("about #memory", "identifier", "#memory"),
        ("by @ada", "identifier", "@ada"),
        ("on db1.example.com", "identifier", "db1.example.com"),
        ("the MP3 file", "identifier", "mp3"),
        ("call +358 40 123 4567", "phone number", "+358401234567"),
        ("call (555) 123-4567", "phone number", "5551234567"),
    ],
)
def test_what_has_to_stay_letter_by_letter_is_found(content: str, kind: str, value: str) -> None:
    """Addresses, paths, code and identifiers are facts, without the marks of the sentence around them."""
    assert found(content) == {(kind, value)}


def test_a_stamp_is_a_date_and_a_time() -> None:
    """A time stamp says its day and its time."""
    assert found("2026-06-08T10:30:00Z") == {("date", "2026-06-08"), ("time", "10:30:00 utc")}


def test_a_name_is_a_capital_inside_a_sentence_or_known() -> None:
    """The word that begins a sentence is a name only if it is known; common words and months never are."""
    assert values("Ada met Bo and the Queen in May", "name") == {"bo", "queen"}
    assert values("Tea is what Ada likes. Coffee too.", "name") == {"ada"}
    known = frozenset({"ada"})
    assert found("Ada's tea", names=known) == {("name", "ada")}
    assert not values("I like tea. The tea. “Tea”, she said: Tea!", "name")
    assert not values("DO NOT SHOUT AT ME", "name")
    assert not values("Er mag den Hund und die Katze", "name")  # German nouns


def test_known_names_are_seen_often_and_mostly_with_a_capital() -> None:
    """A name is known from two memories inside sentences or from three; a word often written small is none."""
    contents = [
        "Ada met Bo",
        "Today Bo left",
        "Ada came",
        "Ada ran",
        "Tea is good",
        "Tea again",
        "Tea or tea",
        "the tea",
    ]
    assert names_known(contents) == {"ada", "bo"}
    assert names_known([]) == frozenset()


@pytest.mark.parametrize(
    ("content", "marks"),
    [
        ("Ada does not like tea", ["negation"]),
        ("Ada doesn't like tea", ["negation"]),
        ("Ada likes tea without milk", ["negation"]),
        ("Nobody came", ["negation"]),
        ("Ada no longer smokes", ["ended"]),
        ("Ada used to smoke", ["ended"]),
        ("Ada might come", ["possible"]),
        ("Ada plans to come", ["planned"]),
        ("Ada comes if it rains", ["condition"]),
        ("all except Ada", ["exception"]),
        ("not only Ada", []),
        ("小明不喜欢茶", ["negation"]),
        ("小明喜欢茶，不过很忙", []),
        ("お茶は好きではない", ["negation"]),
        ("値段は少ない", []),
        ("Ada ei pidä teestä", ["negation"]),
        ("Ada mag keinen Tee", ["negation"]),
        ("A Ada no le gusta el té", ["negation"]),
        ("Ада не любит чай", ["negation"]),
        ("لا أحب الشاي", ["negation"]),
        ("ไม่ชอบชา", ["negation"]),
        ("차를 좋아하지 않아요", ["negation"]),
    ],
)
def test_what_turns_a_statement_round_is_marked(content: str, marks: list[str]) -> None:
    """Negation, end, doubt, plan, condition and exception are seen; what only looks like them is not."""
    assert list(facts_of(content).marks) == marks


def test_every_language_is_a_file_that_travels_with_the_package() -> None:
    """Each file of words is a language, says what it is called, and repeats no word in a list."""
    folder = resources.files("consolidator.merging") / "words"
    codes = {file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")}
    assert codes == set(languages()) >= {"en", "fi", "de", "es", "zh", "ja", "th", "ko", "ar"}
    for code in codes:
        data = json.loads((folder / f"{code}.json").read_text("utf-8"))
        assert data["name"]
        for name, words in data.items():
            if isinstance(words, list):
                assert len(words) == len(set(words)), (code, name)


def test_words_are_written_as_texts_are_read() -> None:
    """A word that folding or lowering changes could never be found."""
    for language in languages().values():
        for name, words in language.sets.items():
            assert all(word == fold(word).lower() for word in words), (language.code, name)
        for word in language.phrases:
            assert word == fold(word).lower(), language.code


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    """A folded text is in its form."""
    assert fold(fold(text)) == fold(text)


@given(
    st.text(st.one_of(st.characters(), st.sampled_from("15.,:/-'’$€% KkMmadpnot月日年点五十百一不第±½²")), max_size=60)
)
def test_any_text_can_be_read(text: str) -> None:
    """Whatever a memory holds, reading it ends, and reading it again says the same."""
    assert facts_of.__wrapped__(text) == facts_of.__wrapped__(text)


@given(st.integers(0, 10**12), st.sampled_from(["{:d}", "{:,d}"]))
def test_every_whole_number_is_read_back(value: int, form: str) -> None:
    """Digits, with separators or without, mean their number."""
    assert values(f"He counted {form.format(value)} of them", "number") == {str(value)}


@given(st.decimals(0, 10**6, places=3, allow_nan=False))
def test_equal_decimals_have_one_form(value: object) -> None:
    """3.50 is 3.5."""
    from fractions import Fraction

    assert Fraction(number(Fraction(str(value)))) == Fraction(str(value))


@pytest.mark.parametrize(
    "piece",
    ["a", "1", "1.", "1,", "1-", "1:", "1/", "a.", "a-", "a/", "/a", "a@", "a://", "a_", "A1 ", "`", "(",
     '"', "\n", "[a]",
     "五", "五年五月", "not ", "one ", "hundred thousand ", "password ", "key=", "ห้าไม่", "\U0001f600", "a\u0301"],
)  # fmt: skip
def test_no_text_takes_more_than_its_length(piece: str) -> None:
    """What repeats itself is read in time that grows with its length: this ends, and soon."""
    content = piece * 5_000
    facts_of.__wrapped__(content)
    names_known([content])
    find_secrets(content)
    same_text(content, f"{content}b")
