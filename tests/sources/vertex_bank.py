"""
What Memory Bank holds and its rules, without the wire: resources as the JSON of the API (v1beta1), by name.

Rules are those of the API's reference; where that is silent the bank does what makes a client's life harder: an
operation's answer names a memory and no more, pages come in no order of time, times differ by microseconds.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sources.vertex_fields import (
    CHANGEABLE,
    IMMUTABLE,
    TEXTS,
    Json,
    Refused,
    camel,
    distance,
    duration,
    examine,
    matches,
    moment,
    paged,
    scope_filter,
    stamp,
    told,
)

START = datetime(2026, 11, 3, 12, 0, 0, 250_000, tzinfo=UTC)
MOST_A_PAGE = 100
RETRIEVED = 3
REVISIONS_LIVE = timedelta(days=365)
DELETED_LIVES = timedelta(hours=48)

# Of a new fact and the facts of its scope, by name: what becomes of it. (action, name or None, fact)
Judge = Callable[[str, Mapping[str, str]], Sequence[tuple[str, str | None, str]]]


def same_text(fact: str, known: Mapping[str, str]) -> Sequence[tuple[str, str | None, str]]:
    """Consolidation at its plainest: a fact that is known already changes nothing, any other is new."""
    for name, text in known.items():
        if text.casefold() == fact.casefold():
            return [("UPDATED", name, text)]
    return [("CREATED", None, fact)]


class Bank:
    """Memories and revisions of reasoning engines. Not safe for threads: the server holds its lock around it."""

    def __init__(self, engines: Collection[str]) -> None:
        self.now = START
        self.engines = set(engines)
        self.judge: Judge = same_text
        self.memories: dict[str, Json] = {}
        self.revisions: dict[str, list[Json]] = {}
        self._deleted: dict[str, tuple[Json, datetime]] = {}
        self._made = 0

    def create(self, parent: str, body: Json, memory_id: str | None = None) -> Json:
        self._engine(parent)
        examine(body)
        if not body.get("scope"):
            raise Refused(400, "memory.scope is required.")
        if not body.get("fact") and not body.get("structuredContent"):
            raise Refused(400, "memory.fact is required.")
        if memory_id is not None and not re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", memory_id):
            raise Refused(400, f"Invalid memory_id: {memory_id}")
        name = f"{parent}/memories/{memory_id or self._number()}"
        if self._here(name) or name in self._deleted:
            raise Refused(409, f"Memory {name} already exists.")
        now = self._tick()
        memory: Json = {"name": name, "createTime": stamp(now), "updateTime": stamp(now)}
        memory |= {
            field: deepcopy(body[field]) for field in (*TEXTS, "topics", "metadata", *IMMUTABLE) if field in body
        }
        memory.setdefault("memoryType", "NATURAL_LANGUAGE_COLLECTION")
        if "structuredContent" in body:
            memory["structuredContent"] = deepcopy(body["structuredContent"])
        self._expire(memory, body, now)
        self.memories[name] = memory
        self._revise(memory, body, now)
        return memory

    def get(self, name: str) -> Json:
        memory = self._here(name)
        if memory is None:
            raise Refused(404, f"Memory {name} does not exist.")
        return memory

    def page(self, parent: str, query: Mapping[str, str]) -> Json:
        """One page of a list: at most 100, filtered by nothing but a whole scope."""
        self._engine(parent)
        found = self._of(parent)
        if query.get("filter"):
            wanted = scope_filter(query["filter"])
            found = [memory for memory in found if memory["scope"] == wanted]
        if query.get("orderBy"):
            raise Refused(400, f"Invalid order_by: {query['orderBy']}")
        some, token = paged(found, query.get("pageSize"), query.get("pageToken"), MOST_A_PAGE)
        return {**({"memories": some} if some else {}), **token}

    def patch(self, name: str, body: Json, mask: str | None) -> Json:
        """Without a mask, every field that the body holds is set."""
        memory = self.get(name)
        examine(body)
        given = [field for field in body if field in (*CHANGEABLE, *IMMUTABLE)]
        paths = [camel(path.strip()) for path in mask.split(",")] if mask else given
        for path in paths:
            if path in IMMUTABLE and (mask or body[path] != memory.get(path)):
                raise Refused(400, f"Field {path} is immutable.")
            if path not in (*CHANGEABLE, *IMMUTABLE):
                raise Refused(400, f"Invalid update_mask path: {path}")
        if "fact" in paths and not body.get("fact"):
            raise Refused(400, "memory.fact is required.")
        now = self._tick()
        for path in paths:
            if path in ("ttl", "expireTime"):
                memory.pop("expireTime", None)
                self._expire(memory, body, now)
            elif path not in IMMUTABLE:
                memory.pop(path, None)
                if body.get(path):
                    memory[path] = deepcopy(body[path])
        memory["updateTime"] = stamp(now)
        self._revise(memory, body, now)
        return memory

    def delete(self, name: str) -> None:
        memory = self.get(name)
        now = self._tick()
        del self.memories[name]
        self._deleted[name] = (memory, now)

    def revisions_of(self, name: str, query: Mapping[str, str]) -> Json:
        if not self._here(name) and not self._recoverable(name):
            raise Refused(404, f"Memory {name} does not exist.")
        found = self._revisions(name)
        if query.get("filter"):
            said = re.fullmatch(r'labels\.([\w-]+)\s*=\s*"([^"]*)"', query["filter"].strip())
            if said is None:
                raise Refused(400, f"Invalid filter: {query['filter']}")
            found = [revision for revision in found if revision.get("labels", {}).get(said[1]) == said[2]]
        some, token = paged(found, query.get("pageSize"), query.get("pageToken"), MOST_A_PAGE)
        return {**({"memoryRevisions": some} if some else {}), **token}

    def revision(self, name: str) -> Json:
        for revision in self._revisions(name.partition("/revisions/")[0]):
            if revision["name"] == name:
                return revision
        raise Refused(404, f"MemoryRevision {name} does not exist.")

    def rollback(self, name: str, target: str) -> None:
        """The fact of an earlier revision is that of the memory again; one deleted within two days is back."""
        revision = self.revision(f"{name}/revisions/{target}")
        if not self._here(name):
            if not self._recoverable(name):
                raise Refused(404, f"Memory {name} does not exist.")
            self.memories[name] = self._deleted.pop(name)[0]
        memory, now = self.memories[name], self._tick()
        memory["fact"] = revision["fact"]
        memory["updateTime"] = stamp(now)
        self._revise(memory, {}, now)

    def generate(self, parent: str, body: Json) -> Json:
        """Facts into a scope, each judged beside those that are there."""
        self._engine(parent)
        sources = [
            key for key in ("vertexSessionSource", "directContentsSource", "directMemoriesSource") if key in body
        ]
        if len(sources) != 1:
            raise Refused(400, "Exactly one source must be set.")
        if sources[0] == "vertexSessionSource":
            raise Refused(404, f"Session {body['vertexSessionSource'].get('session')} does not exist.")
        scope = body.get("scope")
        if not scope:
            raise Refused(400, "scope is required.")
        examine({"scope": scope})
        done: list[Json] = []
        for fact, topics in told(body):
            known = {m["name"]: m["fact"] for m in self._of(parent) if m["scope"] == scope and self._may_join(m, body)}
            judged = [("CREATED", None, fact)] if body.get("disableConsolidation") else self.judge(fact, known)
            for action, name, text in judged:
                done.append(self._generated(parent, body, topics, action, name, text))
        return {"generatedMemories": done} if done else {}

    def retrieve(self, parent: str, body: Json) -> Json:
        self._engine(parent)
        if not body.get("scope"):
            raise Refused(400, "scope is required.")
        if body.get("filter"):
            raise Refused(400, f"Invalid filter: {body['filter']}")
        found = [memory for memory in self._of(parent) if memory["scope"] == body["scope"]]
        found = [memory for memory in found if matches(memory, body.get("filterGroups"))]
        similar, simple = body.get("similaritySearchParams"), body.get("simpleRetrievalParams")
        if similar is not None and simple is not None:
            raise Refused(400, "Only one of similarity_search_params and simple_retrieval_params may be set.")
        if similar is None:
            size, token = (simple or {}).get("pageSize"), (simple or {}).get("pageToken")
            some, following = paged(found, size or RETRIEVED, token, MOST_A_PAGE)
            hits = [{"memory": memory} for memory in some]
        else:
            if not similar.get("searchQuery"):
                raise Refused(400, "search_query is required.")
            by_distance = sorted((distance(similar["searchQuery"], memory["fact"]), memory["name"]) for memory in found)
            top = by_distance[: min(similar.get("topK") or RETRIEVED, MOST_A_PAGE)]
            hits = [{"memory": self.memories[name], "distance": apart} for apart, name in top]
            following = {}
        return {**({"retrievedMemories": hits} if hits else {}), **following}

    def purge(self, parent: str, body: Json) -> Json:
        """Without `force` it is only told how many would go."""
        self._engine(parent)
        if not body.get("filter") and not body.get("filterGroups"):
            raise Refused(400, "filter or filter_groups is required.")
        found = self._of(parent)
        if body.get("filter"):
            wanted = scope_filter(body["filter"])
            found = [memory for memory in found if memory["scope"] == wanted]
        found = [memory for memory in found if matches(memory, body.get("filterGroups"))]
        if body.get("force"):
            for memory in found:
                self.delete(memory["name"])
        return {"purgeCount": len(found)} if found else {}

    def _generated(self, parent: str, body: Json, topics: Any, action: str, name: str | None, text: str) -> Json:
        about = {"fact": text, "scope": body["scope"], **({"topics": topics} if topics else {})}
        about |= {
            k: body[k] for k in ("metadata", "revisionLabels", "revisionTtl", "disableMemoryRevisions") if k in body
        }
        if action == "CREATED":
            return {"memory": {"name": self.create(parent, about)["name"]}, "action": action}
        assert name is not None
        before = self._revisions(name)
        previous = {"previousRevision": before[-1]["name"]} if before else {}
        if action == "DELETED":
            self.delete(name)
        else:
            merging = body.get("metadataMergeStrategy") != "OVERWRITE"
            if "metadata" in about and merging:
                about["metadata"] = {**self.memories[name].get("metadata", {}), **about["metadata"]}
            self.patch(name, about, ",".join(field for field in ("fact", "topics", "metadata") if field in about))
        return {"memory": {"name": name}, "action": action, **previous}

    def _may_join(self, memory: Json, body: Json) -> bool:
        exact = body.get("metadataMergeStrategy") == "REQUIRE_EXACT_MATCH"
        return not exact or memory.get("metadata", {}) == body.get("metadata", {})

    def _engine(self, parent: str) -> None:
        if parent not in self.engines:
            raise Refused(404, f"ReasoningEngine {parent} does not exist.")

    def _of(self, parent: str) -> list[Json]:
        return [
            m for name, m in list(self.memories.items()) if name.startswith(f"{parent}/memories/") and self._here(name)
        ]

    def _here(self, name: str) -> Json | None:
        """The memory, unless its time has come: then it is gone for everyone."""
        memory = self.memories.get(name)
        if memory and "expireTime" in memory and moment(memory["expireTime"]) <= self.now:
            del self.memories[name]
            return None
        return memory

    def _recoverable(self, name: str) -> bool:
        return name in self._deleted and self.now < self._deleted[name][1] + DELETED_LIVES

    def _revisions(self, name: str) -> list[Json]:
        return [r for r in self.revisions.get(name, []) if "expireTime" not in r or moment(r["expireTime"]) > self.now]

    def _expire(self, memory: Json, body: Json, now: datetime) -> None:
        if "ttl" in body:
            memory["expireTime"] = stamp(now + duration(body["ttl"]))
        elif "expireTime" in body:
            memory["expireTime"] = stamp(moment(body["expireTime"]))

    def _revise(self, memory: Json, body: Json, now: datetime) -> None:
        if body.get("disableMemoryRevisions"):
            return
        until = now + (duration(body["revisionTtl"]) if "revisionTtl" in body else REVISIONS_LIVE)
        if "revisionExpireTime" in body:
            until = moment(body["revisionExpireTime"])
        revision = {"name": f"{memory['name']}/revisions/{self._number()}", "fact": memory.get("fact", ""),
                    "createTime": stamp(now), "expireTime": stamp(until)}  # fmt: skip
        if body.get("revisionLabels"):
            revision["labels"] = deepcopy(body["revisionLabels"])
        self.revisions.setdefault(memory["name"], []).append(revision)

    def _number(self) -> int:
        """Ids of the service's own look like nothing that can be put in order."""
        self._made += 1
        return 10**18 + self._made * 7_364_136_223_846_793 % 10**18

    def _tick(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now
