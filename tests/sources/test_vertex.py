"""Vertex AI Memory Bank: what is special to it, beside the contract of sources."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.instants import parse_instant
from consolidator.sources import choose
from consolidator.sources.choose import open_source
from consolidator.sources.port import Done, Image, Item, Options, Ours, Source, Unreadable, Write
from consolidator.sources.vertex import bank
from tests.lives import EVE, T0, day
from tests.sources.vertex_fields import Refused
from tests.sources.vertex_foreign import MemoryBank, hasty
from tests.sources.vertex_server import Fault, VertexServer, serving

ADA = '{"user":"ada"}'


@pytest.fixture(scope="module")
def served() -> Iterator[VertexServer]:
    with hasty(), serving(VertexServer()) as server:
        yield server


@pytest.fixture
def server(served: VertexServer) -> VertexServer:
    """One for all: empty again."""
    with served.lock:
        served.bank.__init__([served.engine])  # type: ignore[misc]
        served.calls.clear()
        served.faults.clear()
    return served


@pytest.fixture
def foreign(server: VertexServer) -> MemoryBank:
    return MemoryBank(server)


@pytest.fixture
def source(foreign: MemoryBank) -> Iterator[Source]:
    with foreign.source() as source:
        yield source


def items(source: Source) -> dict[str, Item]:
    return {each.id: each for each in source.read(None).records if isinstance(each, Item)}


def ours(content: str, **more: Any) -> Ours:
    return replace(Ours("a" * 64, ADA, content, "fact", T0, 0.5), **more)


def pushed(source: Source, key: str, memory: Ours) -> Done:
    before = source.look([key]).get(key)
    return source.write([Write(key, before, source.render(memory, before, None, now=day(EVE)))])[key]


def writing(server: VertexServer) -> list[str]:
    return [
        f"{call.method} {call.query.get('updateMask', '')}".strip() for call in server.calls if call.method != "GET"
    ]


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(BadInput) as refused:
        act()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_a_memory_is_taken_in_as(foreign: MemoryBank) -> None:
    """Its scope is ours and what the source's says besides; one topic is its type; its metadata are kept, plainly."""
    managed = [{"managedMemoryTopic": "USER_PREFERENCES"}]
    about = {"ttl": "3600s", "metadata": {"n": {"doubleValue": 2}, "from": {"stringValue": "chat"}}}
    one = foreign.add("Ada drinks tea.", scope=ADA, **about)
    foreign.server.bank.memories[foreign.name(one)]["topics"] = managed
    two, three = foreign.add("Ada sails.", topics=["boats"]), foreign.add("Ada rows.", topics=["boats", "sport"])
    with open_source(foreign.url, Options(scope='{"house":"blue"}')) as source:
        found = items(source)
    line = found[one].memory
    assert (line.content, line.type, line.topics) == ("Ada drinks tea.", "user_preferences", ["USER_PREFERENCES"])
    assert (line.scope, line.metadata) == ('{"house":"blue","user":"ada"}', {"n": 2.0, "from": "chat"})
    assert line.expires_at is not None
    assert line.expires_at - line.created_at == 3600 * 1_000_000
    assert [found[key].memory.type for key in (two, three)] == ["boats", "fact"]
    assert found[two].memory.scope == '{"agent_name":"openclaw","house":"blue"}'


def test_a_topic_that_is_newer_than_the_library_is_one(foreign: MemoryBank, source: Source) -> None:
    """It is read, and a merged memory has it too."""
    key = foreign.add("Ada drinks tea.", scope=ADA)
    newer = [{"managedMemoryTopic": "FUTURE_PLANS"}]
    foreign.server.bank.memories[foreign.name(key)]["topics"] = newer
    line = items(source)[key].memory
    assert (line.topics, line.type) == (["FUTURE_PLANS"], "FUTURE_PLANS")
    made = source.render(ours("Ada drank tea."), None, source.look([key])[key], now=day(EVE))
    assert made is not None
    assert made["topics"] == newer


def test_a_scope_that_says_the_same_key_is_not_taken(foreign: MemoryBank) -> None:
    """Nor is a memory taken for gone for that."""
    key = foreign.add("Ada drinks tea.", scope=ADA)
    with open_source(foreign.url, Options(scope=ADA)) as source:
        (found,) = source.read(None).records
    assert isinstance(found, Unreadable)
    assert found.id == key
    assert str(found.bad).endswith(": user is in it already, and the source's scope says it too")


def test_a_structured_profile_is_no_text(foreign: MemoryBank, source: Source) -> None:
    """It is left alone."""
    foreign.server.bank.create(
        foreign.server.engine,
        {"scope": {"user": "ada"}, "memoryType": "STRUCTURED_PROFILE", "structuredContent": {"data": {"name": "Ada"}}},
    )
    assert list(source.read(None).records) == []


def test_a_bank_of_many_pages_is_read_whole(foreign: MemoryBank, source: Source) -> None:
    """Each once, in as many questions as there are pages; so is a look at many."""
    keys = {foreign.add(f"Fact {n}.") for n in range(257)}
    assert items(source).keys() == keys
    assert len(foreign.server.calls) == 3
    assert source.look(keys).keys() == keys
    assert len(foreign.server.calls) == 6


def test_what_the_night_found_goes_into_metadata_of_our_own(foreign: MemoryBank, source: Source) -> None:
    """Theirs stay, and no revision is made for it: nothing that they read was changed."""
    key = foreign.add("Ada drinks tea.", metadata={"n": {"doubleValue": 2}})
    done = pushed(source, key, ours("Ada drinks tea.", strength=0.123456, consolidated=True, temporal_state="past"))
    assert done == Done(items(source)[key].fingerprint)
    assert foreign.server.bank.get(foreign.name(key))["metadata"] == {
        "n": {"doubleValue": 2},
        "consolidator_strength": {"doubleValue": 0.1235},
        "consolidator_state": {"stringValue": "consolidated"},
        "consolidator_time": {"stringValue": "past"},
    }
    assert writing(foreign.server) == ["PATCH metadata"]
    assert len(foreign.server.bank.revisions_of(foreign.name(key), {})["memoryRevisions"]) == 1
    assert (
        pushed(source, key, ours("Ada drinks tea.", strength=0.1235, consolidated=True, temporal_state="past")) == done
    )
    assert writing(foreign.server) == ["PATCH metadata"]


def test_a_changed_text_is_changed_in_place(foreign: MemoryBank, source: Source) -> None:
    """With a revision that says who made it."""
    key = foreign.add("Ada drinks tea.", topics=["drinks"])
    pushed(source, key, ours("Ada drinks green tea."))
    assert foreign.texts() == {key: "Ada drinks green tea."}
    assert writing(foreign.server) == ["PATCH fact,metadata"]
    revisions = foreign.server.bank.revisions_of(foreign.name(key), {})["memoryRevisions"]
    assert [revision.get("labels") for revision in revisions] == [None, {"made-by": "consolidator"}]
    assert foreign.server.bank.get(foreign.name(key))["topics"] == [{"customMemoryTopicLabel": "drinks"}]


def test_a_write_does_not_move_the_time_when_a_memory_expires(foreign: MemoryBank, source: Source) -> None:
    """It is set to what it is; ours is sent only where we have another."""
    key = foreign.add("Ada drinks tea.", ttl="3600s")
    before = foreign.server.bank.get(foreign.name(key))["expireTime"]
    memory = ours("Ada drinks tea.")
    pushed(source, key, memory)
    assert writing(foreign.server) == ["PATCH metadata,expire_time"]
    pushed(source, key, replace(memory, expires_at=parse_instant(before)))
    assert foreign.server.bank.get(foreign.name(key))["expireTime"] == before
    assert len(writing(foreign.server)) == 1
    pushed(source, key, replace(memory, expires_at=parse_instant("2026-12-24T18:00:00Z")))
    assert foreign.server.bank.get(foreign.name(key))["expireTime"] == "2026-12-24T18:00:00.000000Z"
    assert writing(foreign.server)[1:] == ["PATCH expire_time"]


def test_a_merged_text_is_a_new_memory_in_the_very_scope_of_its_sources(foreign: MemoryBank) -> None:
    """Without the pairs that are only ours; what it was merged from is deleted. Nothing is ever generated."""
    one, two = (foreign.add(text, scope=ADA, topics=["tea"]) for text in ("Ada drinks tea.", "Ada likes tea."))
    with open_source(foreign.url, Options(scope='{"house":"blue"}')) as source:
        memory = ours("Ada drinks and likes tea.", scope='{"house":"blue","user":"ada"}', merged_from=(one, two))
        new, images = source.new_id(memory), source.look([one, two])
        made = source.render(memory, None, images[one], now=day(EVE))
        alone = source.render(memory, None, None, now=day(EVE))
        assert made is not None
        assert alone is not None
        assert alone["scope"] == {"user": "ada"}
        done = source.write([Write(new, None, made), *(Write(key, images[key], None) for key in (one, two))])
    assert [each.conflict for each in done.values()] == [None, None, None]
    assert foreign.texts() == {new: "Ada drinks and likes tea."}
    memory_there = foreign.server.bank.get(foreign.name(new))
    assert (memory_there["scope"], memory_there["topics"]) == ({"user": "ada"}, [{"customMemoryTopicLabel": "tea"}])
    assert writing(foreign.server) == ["POST", "DELETE", "DELETE"]
    assert not [call for call in foreign.server.calls if ":" in call.path]


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_what_is_not_active_here_is_deleted_there(source: Source, status: str) -> None:
    """It has no states."""
    assert source.render(ours("Gone.", status=status), {"fact": "Gone."}, None, now=day(EVE)) is None


def test_a_write_whose_answer_was_lost_is_not_made_twice(foreign: MemoryBank, source: Source) -> None:
    """It is looked at what it came to. A memory that a killed push has made already is not made again either."""
    memory = ours("Ada drinks tea.")
    new, image = source.new_id(memory), source.render(memory, None, None, now=day(EVE))
    foreign.server.order(Fault("POST", lost=True))
    done = source.write([Write(new, None, image)])[new]
    assert source.write([Write(new, None, image)])[new] == done == Done(items(source)[new].fingerprint)
    foreign.server.order(Fault("PATCH", lost=True))
    assert pushed(source, new, replace(memory, content="Ada drinks green tea.")).conflict is None
    assert writing(foreign.server) == ["POST", "PATCH fact"]
    assert foreign.texts() == {new: "Ada drinks green tea."}
    assert source.write([Write(new, None, image)])[new].conflict == "is there already, and says something else"
    foreign.server.order(Fault("DELETE", lost=True))
    assert source.write([Write(new, source.look([new])[new], None)])[new] == Done()
    assert (foreign.texts(), writing(foreign.server)[2:]) == ({}, ["DELETE"])


def test_a_deleted_memory_comes_back_under_its_name_for_two_days(foreign: MemoryBank, source: Source) -> None:
    """By its last revision; what a revision does not hold is set again."""
    key = foreign.add("Ada drinks tea.", topics=["tea"], metadata={"n": {"doubleValue": 2}})
    foreign.edit(key, "Ada drinks green tea.")
    before = source.look([key])[key]
    source.write([Write(key, before, None)])
    foreign.server.bank._deleted[foreign.name(key)][0].pop("metadata")
    done = source.write([Write(key, None, before)])[key]
    assert (done, source.look([key])[key]) == (Done(source.fingerprint(before)), before)


def test_after_that_it_is_made_anew_and_known_by_its_former_name(foreign: MemoryBank, source: Source) -> None:
    """A name of one that was deleted is never given again; so it can be read, changed, deleted and brought back."""
    key = foreign.add("Ada drinks tea.", topics=["tea"])
    fingerprint = items(source)[key].fingerprint
    before = source.look([key])[key]
    for _ in range(2):
        assert source.write([Write(key, source.look([key])[key], None)])[key] == Done()
        assert source.look([key]) == {}
        foreign.server.bank.now += timedelta(days=3)
        foreign.server.bank.revisions.clear()
        assert source.write([Write(key, None, before)])[key] == Done(fingerprint)
        assert [*foreign.texts().values()] == ["Ada drinks tea."]
        assert key not in foreign.texts()
        with foreign.source() as other:
            assert items(other)[key].fingerprint == fingerprint
            assert other.look([key]).keys() == {key}
            assert items(other)[key].memory.metadata is None
    assert pushed(source, key, ours("Ada drinks green tea.")).conflict is None
    assert [*foreign.texts().values()] == ["Ada drinks green tea."]
    assert items(source).keys() == {key}


def test_a_name_of_ours_that_was_deleted_is_used_no_more(foreign: MemoryBank, source: Source) -> None:
    """A merge that was undone and comes again finds its memory, or makes it under another name."""
    memory = ours("Ada drinks tea.")
    new, image = source.new_id(memory), source.render(memory, None, None, now=day(EVE))
    for pause in (timedelta(0), timedelta(hours=1), timedelta(days=3)):
        foreign.server.bank.now += pause
        done = source.write([Write(new, None, image)])[new]
        assert done == Done(items(source)[new].fingerprint)
        assert source.write([Write(new, source.look([new])[new], None)])[new] == Done()
    assert foreign.texts() == {}


def test_a_push_taken_back_leaves_the_memory_as_it_was(foreign: MemoryBank, source: Source) -> None:
    """Our metadata too are gone, and an expiry that we set."""
    key = foreign.add("Ada drinks tea.", topics=["tea"], metadata={"n": {"doubleValue": 2}})
    theirs, before = foreign.theirs(), source.look([key])[key]
    pushed(source, key, ours("Ada drinks tea, mostly.", expires_at=day(400)))
    after = source.look([key])[key]
    assert source.write([Write(key, after, before)])[key] == Done(source.fingerprint(before))
    assert (source.look([key])[key], foreign.theirs()) == (before, theirs)


def test_what_others_change_beside_a_write_stays(foreign: MemoryBank, source: Source) -> None:
    """Also in the moment between the last look and the write: only what the write is about is set."""
    key = foreign.add("Ada drinks tea.")
    before = source.look([key])[key]
    after = source.render(ours("Ada drinks tea."), before, None, now=day(EVE))
    go = threading.Event()
    fault = foreign.server.order(Fault("PATCH", hold=go))
    done: dict[str, Done] = {}
    writer = threading.Thread(target=lambda: done.update(source.write([Write(key, before, after)])))
    writer.start()
    assert fault.reached.wait(10)
    foreign.edit(key, "Ada drinks coffee.")
    go.set()
    writer.join(10)
    assert foreign.texts() == {key: "Ada drinks coffee."}
    assert done[key].fingerprint == items(source)[key].fingerprint


@pytest.mark.parametrize("change", ["edit", "remove", "expire", "metadata"])
def test_what_was_changed_over_there_is_left_alone(foreign: MemoryBank, source: Source, change: str) -> None:
    """Its text, its metadata, the time when it expires, or that it is there at all."""
    key = foreign.add("Ada drinks tea.", ttl="3600s")
    before = source.look([key])[key]
    after = source.render(ours("Ada drinks green tea."), before, None, now=day(EVE))
    patches = {"expire": {"ttl": "60s"}, "metadata": {"metadata": {"n": {"doubleValue": 1}}}}
    if change in patches:
        foreign.server.bank.patch(foreign.name(key), patches[change], None)
    elif change == "edit":
        foreign.edit(key, "Ada drinks coffee.")
    else:
        foreign.remove(key)
    there = foreign.theirs()
    for wanted in (after, None):
        done = source.write([Write(key, before, wanted)])[key]
        assert done.conflict or (change == "remove" and wanted is None)
    assert foreign.theirs() == there


def test_an_operation_that_takes_its_time_is_waited_for(foreign: MemoryBank, source: Source) -> None:
    """And what is told is what is there then."""
    key = foreign.add("Ada drinks tea.")
    for method in ("PATCH", "DELETE"):
        foreign.server.order(Fault(method, late=4))
    assert pushed(source, key, ours("Ada drinks green tea.")).conflict is None
    assert foreign.texts() == {key: "Ada drinks green tea."}
    assert source.write([Write(key, source.look([key])[key], None)])[key] == Done()
    assert foreign.texts() == {}


def test_an_operation_that_is_never_done_costs_its_record(
    foreign: MemoryBank, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a deadline; whether it was done, the next look tells."""
    monkeypatch.setattr(bank, "DEADLINE_SECONDS", 0.0)
    key = foreign.add("Ada drinks tea.")
    foreign.server.order(Fault("PATCH", late=10_000))
    done = pushed(source, key, ours("Ada drinks green tea."))
    assert done.conflict == "is not done with after 0 seconds; look again later"


def test_one_that_fails_costs_itself(foreign: MemoryBank, source: Source) -> None:
    """The others are written."""
    keys = [foreign.add(f"Fact {n}.") for n in range(4)]
    images = source.look(keys)
    after = {key: source.render(ours(f"Changed {n}."), images[key], None, now=day(EVE)) for n, key in enumerate(keys)}
    foreign.server.order(Fault(f"PATCH .*{keys[1]}", failed=Refused(500, "The operation broke.")))
    foreign.server.order(Fault(f"PATCH .*{keys[2]}", status=400))
    done = source.write([Write(key, images[key], after[key]) for key in keys])
    assert [done[key].conflict for key in keys] == [
        None,
        "could not be written: The operation broke",
        "could not be written: The service was told to refuse this",
        None,
    ]
    assert [*foreign.texts().values()] == ["Changed 0.", "Fact 1.", "Fact 2.", "Changed 3."]


def test_a_service_that_fails_half_way_leaves_the_rest_alone(foreign: MemoryBank, source: Source) -> None:
    """What was written is told as done; nothing more is asked."""
    keys = [foreign.add(f"Fact {n}.") for n in range(4)]
    images = source.look(keys)
    writes = [Write(key, images[key], None) for key in keys]
    foreign.server.order(Fault(f"DELETE .*{keys[1]}", times=100, status=503))
    done = source.write(writes)
    assert done[keys[0]] == Done()
    assert all("the service fails with 503" in str(done[key].conflict) for key in keys[1:])
    assert writing(foreign.server) == ["DELETE"] * 4
    assert refusal(lambda: source.write(writes[1:])).endswith("try again later")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(foreign: MemoryBank, source: Source, status: int) -> None:
    """A few times."""
    key = foreign.add("Ada drinks tea.")
    foreign.server.order(Fault("GET", times=2, status=status))
    assert items(source).keys() == {key}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "access is refused (The service was told to refuse this); it takes the role `roles/aiplatform.user`"),
        (403, "access is refused"),
        (404, "there is no such reasoning engine (The service was told to refuse this)"),
        (429, "the quota is used up (The service was told to refuse this); try again later"),
        (503, "the service fails with 503 (The service was told to refuse this); try again later"),
    ],
)
def test_a_service_that_cannot_be_used_is_said_in_a_line(
    foreign: MemoryBank, source: Source, status: int, said: str
) -> None:
    """Also where it fails between two pages: nothing is taken for gone."""
    for n in range(150):
        foreign.add(f"Fact {n}.")
    reading = iter(source.read(None).records)
    next(reading)
    foreign.server.order(Fault("GET", times=100, status=status))
    line = refusal(lambda: list(reading))
    assert line.startswith(f"{source.url}: {said}")


def test_a_service_that_is_not_there_is_said_in_a_line(source: Source) -> None:
    """By whoever asks."""
    url = "vertex:projects/p/locations/europe-west4/reasoningEngines/1?endpoint=http://127.0.0.1:1"
    with open_source(url, Options()) as gone:
        line = refusal(lambda: list(gone.read(None).records))
        assert line.startswith(f"{url}: cannot be reached (")
        assert refusal(lambda: gone.look(["x"])) == line


def test_without_credentials_it_is_said_how_to_get_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")

    def opened() -> None:
        with open_source("vertex:projects/p/locations/europe-west4/reasoningEngines/1", Options()):
            pass

    line = refusal(opened)
    assert line.startswith("vertex:projects/p/locations/europe-west4/reasoningEngines/1: no credentials (File ")
    assert line.endswith("run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS")


def test_a_token_is_shown_to_the_service_and_to_nobody_else(foreign: MemoryBank) -> None:
    """Neither the URL nor what is said of an option holds it."""
    with open_source(foreign.url, Options(token="secret-token")) as source:
        items(source)
        assert "secret" not in source.url
    assert {call.token for call in foreign.server.calls} == {"secret-token"}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "no reasoning engine; write vertex:projects/P/locations/L/reasoningEngines/N"),
        ("projects/p/locations/l", "no reasoning engine; write"),
        ("projects/p/locations/l/reasoningEngines/1?endpont=http://x", "'endpont' means nothing after the place"),
        ("projects/p/locations/l/reasoningEngines/1?endpoint=ftp://x", "the endpoint is no plain address"),
        ("projects/p/locations/l/reasoningEngines/1?endpoint=https://me:secret@x", "the endpoint is no plain address"),
    ],
)
def test_a_place_that_is_none_is_said_in_a_line(place: str, said: str) -> None:
    """And what was meant; a password in it is not repeated."""

    def opened() -> None:
        with open_source(f"vertex:{place}", Options()):
            pass

    line = refusal(opened)
    assert said in line
    assert "secret" not in line


def test_without_its_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the extra."""
    monkeypatch.setattr(choose, "find_spec", lambda name: None)

    def opened() -> None:
        with open_source("vertex:projects/p/locations/l/reasoningEngines/1", Options()):
            pass

    assert refusal(opened).endswith("needs a package that is not installed: pip install 'consolidator[vertex]'")


def test_an_image_is_the_memory_as_the_api_spells_it(foreign: MemoryBank, source: Source) -> None:
    """Whole, but for the time of its last change."""
    key = foreign.add(
        "Ada drinks tea.",
        topics=["tea"],
        displayName="Tea",
        metadata={"at": {"timestampValue": "2026-01-01T00:00:00Z"}},
    )
    image: Image = source.look([key])[key]
    there = dict(foreign.server.bank.get(foreign.name(key)))
    del there["updateTime"]
    assert {**image, "createTime": parse_instant(image["createTime"])} == {
        **there, "name": key, "createTime": parse_instant(there["createTime"]),
    }  # fmt: skip
