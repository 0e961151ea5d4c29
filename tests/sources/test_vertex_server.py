"""The fake of Memory Bank speaks to the real SDK, and each of its replies fits the SDK's own models."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("agentplatform")

from agentplatform import Client, types
from google.genai.errors import ClientError, ServerError
from google.genai.types import HttpOptions
from google.oauth2.credentials import Credentials

from tests.sources.vertex_fields import Refused
from tests.sources.vertex_server import LOCATION, PROJECT, Fault, VertexServer, serving

ADA = {"user": "ada"}


@pytest.fixture
def server() -> Iterator[VertexServer]:
    with serving(VertexServer()) as server:
        yield server


@pytest.fixture
def memories(server: VertexServer) -> Iterator[Any]:
    credentials = Credentials("token")  # type: ignore[no-untyped-call]
    options = HttpOptions(base_url=server.address)
    client = Client(project=PROJECT, location=LOCATION, credentials=credentials, http_options=options)
    yield client.memory_banks.memories
    client._api_client.close()


def listed(memories: Any, server: VertexServer, **config: Any) -> dict[str, str]:
    return {memory.name: memory.fact for memory in memories.list(name=server.engine, config=config)}


def finished(memories: Any, operation: Any) -> Any:
    """The operation as it is when it is asked for once: deletions are not waited for by the SDK."""
    return memories._get_memory_operation(operation_name=operation.name)


def test_a_memory_is_created_read_listed_and_deleted(server: VertexServer, memories: Any) -> None:
    """What the SDK makes it finds again, with its scope, topics, metadata and the time when it expires."""
    config = {
        "ttl": "3600s",
        "topics": [{"custom_memory_topic_label": "sailing"}, {"managed_memory_topic": "USER_PREFERENCES"}],
        "metadata": {"strength": {"double_value": 0.25}, "pinned": {"bool_value": True}},
        "memory_id": "ada-sails",
    }
    made = memories.create(name=server.engine, fact="Ada sails on Sundays.", scope=ADA, config=config)
    name = f"{server.engine}/memories/ada-sails"
    assert made.done
    assert made.response.name == name
    got = memories.get(name=name)
    assert (got.fact, got.scope, got.metadata["strength"].double_value) == ("Ada sails on Sundays.", ADA, 0.25)
    assert got.expire_time - got.create_time == timedelta(hours=1)
    assert [topic.custom_memory_topic_label for topic in got.topics] == ["sailing", None]
    assert listed(memories, server) == {name: "Ada sails on Sundays."}
    assert finished(memories, memories.delete(name=name)).done
    assert listed(memories, server) == {}
    with pytest.raises(ClientError, match="404"):
        memories.get(name=name)


def test_a_list_comes_in_pages_of_at_most_100(server: VertexServer, memories: Any) -> None:
    """A page larger than 100 is not given, and nothing is skipped where something is deleted between two pages."""
    names = [server.remember(f"Fact {n}.", ADA) for n in range(205)]
    assert len(listed(memories, server, page_size=500)) == 205
    assert [len(memories._list(name=server.engine, config={"page_size": 500}).memories)] == [100]
    pager = memories.list(name=server.engine, config={"page_size": 10})
    first = [memory.name for memory in pager.page]
    server.bank.delete(first[-1])
    rest = [memory.name for memory in pager][len(first) :]
    assert sorted(first + rest) == sorted(names)


def test_a_filter_is_one_whole_scope(server: VertexServer, memories: Any) -> None:
    """Scopes are equal or they are not; nothing else can be asked for."""
    mine = server.remember("Mine.", ADA)
    server.remember("Of both.", {**ADA, "project": "atlas"})
    assert listed(memories, server, filter=f"scope={json.dumps(json.dumps(ADA))}") == {mine: "Mine."}
    for other in ('fact="Mine."', 'scope:"ada"', "scope.user=ada"):
        with pytest.raises(ClientError, match="400"):
            listed(memories, server, filter=other)


def test_an_update_sets_what_its_mask_names(server: VertexServer, memories: Any) -> None:
    """What the mask leaves out stays, a scope never changes, and each update is a revision."""
    name = server.remember("Old.", ADA, metadata={"a": {"stringValue": "b"}}, displayName="kept")
    before = memories.get(name=name)
    memories._update(name=name, fact="New.", config={"update_mask": "fact", "display_name": "ignored"})
    after = memories.get(name=name)
    assert (after.fact, after.display_name, after.metadata) == ("New.", "kept", before.metadata)
    assert after.update_time > before.update_time
    assert after.create_time == before.create_time
    memories._update(name=name, config={"update_mask": "metadata,ttl", "ttl": "60s"})
    got = memories.get(name=name)
    assert (got.metadata, got.fact, got.expire_time is not None) == (None, "New.", True)
    with pytest.raises(ClientError, match="immutable"):
        memories._update(name=name, scope={"user": "bob"}, config={"update_mask": "scope"})
    assert [revision.fact for revision in memories.revisions.list(name=name)].count("New.") == 2


def test_a_rollback_brings_back_what_was_said_and_what_was_deleted(server: VertexServer, memories: Any) -> None:
    """Revisions outlive a deletion by two days."""
    name = server.remember("First.", ADA)
    (first,) = memories.revisions.list(name=name)
    memories._update(name=name, fact="Second.", config={"update_mask": "fact"})
    memories.rollback(name=name, target_revision_id=first.name.rpartition("/")[2])
    assert memories.get(name=name).fact == "First."
    assert memories.revisions.get(name=first.name).fact == "First."
    memories.delete(name=name)
    memories.rollback(name=name, target_revision_id=first.name.rpartition("/")[2])
    assert memories.get(name=name).scope == ADA
    memories.delete(name=name)
    server.bank.now += timedelta(hours=48)
    with pytest.raises(ClientError, match="404"):
        memories.rollback(name=name, target_revision_id=first.name.rpartition("/")[2])


def test_generating_takes_five_direct_memories_and_joins_within_one_scope(server: VertexServer, memories: Any) -> None:
    """The same fact in another scope is another memory; a sixth fact is refused."""
    mine = server.remember("Ada sails.", ADA)
    server.remember("Bob rows.", {"user": "bob"})

    def generate(*facts: str, **config: Any) -> list[tuple[str, str | None]]:
        source = {"direct_memories": [{"fact": fact} for fact in facts]}
        operation = memories.generate(name=server.engine, direct_memories_source=source, scope=ADA, config=config)
        return [(one.action.value, one.memory.name) for one in operation.response.generated_memories or []]

    assert generate("ada sails.") == [("UPDATED", mine)]
    assert [action for action, _ in generate("Bob rows.", "Ada reads.")] == ["CREATED", "CREATED"]
    assert [action for action, _ in generate("Ada sails.", disable_consolidation=True)] == ["CREATED"]
    with pytest.raises(ClientError, match="400"):
        generate(*"123456")
    server.bank.judge = lambda fact, known: [("DELETED", mine, fact)]
    assert generate("Ada sold her boat.") == [("DELETED", mine)]
    assert mine not in listed(memories, server)


def test_retrieving_is_within_exactly_one_scope(server: VertexServer, memories: Any) -> None:
    """Three at most unless more are asked for; the nearest first; filters look at metadata."""
    for n in range(5):
        server.remember(f"Ada owns boat {n}.", ADA, metadata={"n": {"doubleValue": n}})
    server.remember("Bob owns boat 3.", {"user": "bob"})
    assert len(list(memories.retrieve(name=server.engine, scope=ADA).page)) == 3
    near = memories.retrieve(name=server.engine, scope=ADA, similarity_search_params={"search_query": "boat 3"})
    hits = list(near)
    assert hits[0].memory.fact == "Ada owns boat 3."
    assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)
    only = {"filter_groups": [{"filters": [{"key": "n", "op": "GREATER_THAN", "value": {"double_value": 3.0}}]}]}
    found = list(memories.retrieve(name=server.engine, scope=ADA, config=only))
    assert [hit.memory.fact for hit in found] == ["Ada owns boat 4."]


def test_a_purge_without_force_only_counts(server: VertexServer, memories: Any) -> None:
    """Nothing is deleted until it is forced, and leaving the filter out does not mean everything."""
    server.remember("Mine.", ADA)
    server.remember("His.", {"user": "bob"})
    scope = f"scope={json.dumps(json.dumps(ADA))}"
    server.at_once = True  # or else the SDK reads the answer as a memory
    assert memories.purge(name=server.engine, filter=scope).response.purge_count == 1
    assert len(listed(memories, server)) == 2
    memories.purge(name=server.engine, filter=scope, force=True)
    assert [*listed(memories, server).values()] == ["His."]
    with pytest.raises(ClientError, match="400"):
        memories.purge(name=server.engine, force=True)


def test_what_has_expired_is_gone(server: VertexServer, memories: Any) -> None:
    """From its moment on a memory is neither listed nor read."""
    server.remember("Brief.", ADA, ttl="60s")
    server.bank.now += timedelta(seconds=61)
    assert listed(memories, server) == {}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"fact": "A."}, "scope is required"),
        ({"scope": ADA}, "fact is required"),
        ({"fact": "A.", "scope": {"user": "*"}}, "wildcard"),
        ({"fact": "A.", "scope": ADA, "strength": 1}, "Unknown name"),
        ({"fact": "A.", "scope": ADA, "ttl": "1h"}, "Invalid duration"),
        ({"fact": "A.", "scope": ADA, "ttl": "1s", "expireTime": "2027-01-01T00:00:00Z"}, "oneof"),
        ({"fact": "A.", "scope": ADA, "metadata": {"a": "b"}}, "Invalid metadata"),
    ],
)
def test_what_the_api_would_refuse_is_refused(server: VertexServer, body: dict[str, Any], says: str) -> None:
    """A client that sends what no memory can hold hears of it here already."""
    with pytest.raises(Refused, match=says):
        server.bank.create(server.engine, body)


def test_the_same_id_is_not_made_twice(server: VertexServer, memories: Any) -> None:
    """A create that is sent again says so, and changes nothing."""
    for fact in ("First.", "Again."):
        config = {"memory_id": "one"}
        if fact == "Again.":
            with pytest.raises(ClientError, match="409"):
                memories.create(name=server.engine, fact=fact, scope=ADA, config=config)
        else:
            memories.create(name=server.engine, fact=fact, scope=ADA, config=config)
    assert [*listed(memories, server).values()] == ["First."]


def test_faults_come_when_they_are_ordered(server: VertexServer, memories: Any) -> None:
    """Each error of the service reaches the client as the SDK's own, once for each time that was ordered."""
    for status, error in ((503, ServerError), (429, ClientError), (401, ClientError), (404, ClientError)):
        server.order(Fault("GET .*/memories$", status=status))
        with pytest.raises(error, match=str(status)):
            memories._list(name=server.engine)
        assert listed(memories, server) == {}
    server.order(Fault("POST", failed=Refused(500, "The operation broke.")))
    with pytest.raises(RuntimeError, match="The operation broke"):
        memories.create(name=server.engine, fact="A.", scope=ADA)
    assert listed(memories, server) == {}


def test_an_operation_can_be_late_and_a_reply_lost(server: VertexServer, memories: Any) -> None:
    """What is late is seen only when it is done; what is lost was done all the same."""
    name = server.remember("A.", ADA)
    server.order(Fault("DELETE", late=1))
    operation = memories.delete(name=name)
    assert not finished(memories, operation).done
    assert name in listed(memories, server)
    assert finished(memories, operation).done
    assert listed(memories, server) == {}
    server.order(Fault("POST", lost=True))
    with pytest.raises(Exception, match=r"disconnected|Connection"):
        memories.create(name=server.engine, fact="B.", scope=ADA)
    assert [*listed(memories, server).values()] == ["B."]


def test_a_request_can_be_held_while_others_go_on(server: VertexServer, memories: Any) -> None:
    """A slow reply keeps only the one who waits for it."""
    go = threading.Event()
    fault = server.order(Fault("GET .*/memories$", hold=go))
    seen: list[dict[str, str]] = []
    waiting = threading.Thread(target=lambda: seen.append(listed(memories, server)))
    waiting.start()
    assert fault.reached.wait(10)
    name = server.remember("Meanwhile.", ADA)
    assert memories.get(name=name).fact == "Meanwhile."
    go.set()
    waiting.join(10)
    assert seen == [{name: "Meanwhile."}]


def test_a_token_that_is_wrong_is_refused() -> None:
    """Where the service knows one token, no other will do."""
    with serving(VertexServer(token="right")) as server:
        url = f"{server.address}/v1beta1/{server.engine}/memories"
        with urlopen(Request(url, headers={"authorization": "Bearer right"})) as reply:
            assert json.load(reply) == {}
        with pytest.raises(Exception, match="401"):
            urlopen(Request(url, headers={"authorization": "Bearer wrong"}))


def test_every_reply_fits_the_models_of_the_sdk(server: VertexServer, memories: Any) -> None:
    """Field by field, with nothing left over that the models do not know, as the SDK itself would hide."""
    full = {
        "ttl": "60s",
        "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
        "displayName": "n",
        "description": "d",
        "metadata": {"at": {"timestampValue": "2026-01-01T00:00:00Z"}},
        "revisionLabels": {"by": "us"},
    }
    name = server.remember("Whole.", ADA, **full)
    bank = server.bank
    direct = {"directMemoriesSource": {"directMemories": [{"fact": "Whole."}]}, "scope": ADA}
    types.Memory.model_validate(bank.get(name))
    types.ListMemoriesResponse.model_validate(bank.page(server.engine, {"pageSize": "1"}))
    types.ListMemoryRevisionsResponse.model_validate(bank.revisions_of(name, {"filter": 'labels.by="us"'}))
    types.GenerateMemoriesResponse.model_validate(bank.generate(server.engine, direct))
    search = {"scope": ADA, "similaritySearchParams": {"searchQuery": "whole"}}
    types.RetrieveMemoriesResponse.model_validate(bank.retrieve(server.engine, search))
    types.PurgeMemoriesResponse.model_validate(
        bank.purge(server.engine, {"filter": f"scope={json.dumps(json.dumps(ADA))}"})
    )
    memories.delete(name=name)
    for call in server.calls:
        assert call.path.startswith("/v1beta1/projects/")
    for operation in server._operations.values():
        types.DeleteMemoryOperation.model_validate(
            {
                key: value
                for key, value in server._shown(operation, "DeleteMemory", done=True).items()
                if key != "response"
            }
        )
