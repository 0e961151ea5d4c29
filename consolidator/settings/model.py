"""
Every setting: its name, its bounds, its default and what it is for. The only place where that is written.

What reads, explains and shows settings, and the pages that are made of them, follow from these classes.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator

from consolidator.instants import NIGHT
from consolidator.notify.channels import Channel, http_address, is_http
from consolidator.settings.agents import Agent, told_apart
from consolidator.settings.jobs import Jobs
from consolidator.settings.kinds import (
    ALL_SCOPES,
    ChannelName,
    EmbeddingModel,
    FilePath,
    FileToo,
    Is,
    Level,
    Name,
    Nights,
    ScopeOrAll,
    Scopes,
    Section,
    StoreUrl,
    Token,
    Zone,
    group,
    spelled_as,
)
from consolidator.settings.sources import Source

FILE_NAME = "schedules.yaml"


def _address(text: str, info: ValidationInfo) -> str:
    if info.context is not None and not is_http(text):
        raise ValueError("not a URL; write e.g. http://localhost:11434/v1")
    return text


Factor = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Writer = Annotated[
    str,
    Field(min_length=1),
    spelled_as(r"auto|none|(anthropic|openai)(:.+)?", "auto, none, anthropic, openai, anthropic:NAME or openai:NAME"),
    Is("the name of a model"),
]
Address = Annotated[str, Field(min_length=1), AfterValidator(_address), Is("a URL")]
Tokens = Annotated[int, Field(ge=0)]


ByImportance = Literal["off", "twofold", "memory-lancedb-pro", "memory-new"]


class Rates(Section):
    """
    What is left of a strength after a night of 24 hours, above 0 and up to 1.

    A changed rate, or law by importance, holds from the next night on and rewrites nothing.
    """

    working: Factor = Field(0.906, description="a memory of the day: half is left after 7 nights")
    consolidated: Factor = Field(0.977, description="a memory merged from others: half is left after 30")
    association: Factor = Field(0.9, description="the link between two memories: half is left after 6.6")
    by_importance: ByImportance = Field(
        "off",
        description="half of a memory of the day, of importance 0, 0.5 or 1, is left after: twofold 3.5, 7 or 14 "
        "nights; memory-lancedb-pro 30, 64 or 134; memory-new 1.6, 23 or 58, by type too (rates multiply these)",
    )


class Embedding(Section):
    """How memories get the vectors by which they are compared."""

    model: EmbeddingModel | None = Field(
        None,
        description="minilm (on this machine, without a key), none (words alone) or openai:NAME; "
        "without it the model that the store's vectors are of, else minilm",
        examples=["minilm"],
    )
    base_url: Address | None = Field(
        None,
        description="where openai:NAME is asked, if not at OpenAI: any server that speaks its embeddings API",
        examples=["http://localhost:11434/v1"],
    )
    api_key: SecretStr | None = Field(
        None, description="without it $OPENAI_API_KEY", examples=["${EMBEDDING_KEY}"], repr=False
    )
    timeout_seconds: float = Field(30, gt=0, le=3600, description="how long one request may take")


LONGEST_TEXT = 1_000_000  # characters of a memory, whatever the settings say
AtTheDoor = Literal["refuse", "flag", "ignore"]


class Day(Section):
    """What is let in when an agent remembers something: refuse, flag (kept, and marked) or ignore (not looked for)."""

    longest_text: int = Field(
        10_000, ge=100, le=LONGEST_TEXT, description="characters of a memory; a longer text is refused"
    )
    noise: AtTheDoor = Field(
        "refuse", description='greetings, refusals, pings and "do you remember", where the text is nothing else'
    )
    instructions: AtTheDoor = Field(
        "flag", description='what reads like orders to the agent, such as "ignore your instructions"'
    )
    secrets: AtTheDoor = Field("refuse", description="keys, passwords, numbers of cards and accounts")
    expire_nights: dict[ScopeOrAll, Nights | None] = Field(
        {},
        description='by scope ("*": all that are not named): after so many nights what was remembered or pulled is '
        "archived, unless it was given a time of its own or is pinned; null: never",
        examples=[{"*": 365, "user=ada,project=atlas": 30}],
    )

    def expiry(self, scope: str, now: int) -> int | None:
        """When what is taken in now expires that was given no time of its own. scope: canonical."""
        nights = self.expire_nights.get(scope, self.expire_nights.get(ALL_SCOPES))
        return None if nights is None else now + nights * NIGHT


class Budget(Section):
    """What asking a language model may cost at most; null: no limit of this kind."""

    calls: Tokens | None = Field(None, description="questions", examples=[100])
    input_tokens: Tokens | None = Field(None, description="tokens sent", examples=[200_000])
    output_tokens: Tokens | None = Field(None, description="tokens written by the model", examples=[50_000])
    usd: float | None = Field(None, ge=0, allow_inf_nan=False, description="US dollars", examples=[0.5])


class Price(Section):
    """US dollars for a million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False, description="that are sent", examples=[0.1])
    output: float = Field(ge=0, allow_inf_nan=False, description="that the model writes", examples=[0.5])


class Merge(Section):
    """How memories that say the same are written once."""

    model: Writer = Field(
        "auto",
        description="auto (the provider whose key is set, Anthropic first, else none), none, anthropic, openai, "
        "or anthropic:NAME or openai:NAME",
    )
    mode: Literal["live", "batch"] = Field(
        "live", description="live asks in the night; batch hands in and collects later, for half the price"
    )
    base_url: Address | None = Field(
        None,
        description="where the model is asked, if not at its provider: any server that speaks the provider's protocol",
        examples=["http://localhost:11434/v1"],
    )
    api_key: SecretStr | None = Field(
        None,
        description="without it $ANTHROPIC_API_KEY or $OPENAI_API_KEY",
        examples=["${MERGE_KEY}"],
        repr=False,
    )
    timeout_seconds: float = Field(120, gt=0, le=3600, description="how long one request may take")
    retries: int = Field(5, ge=0, le=20, description="how often a request that failed is tried again")
    concurrency: int = Field(4, ge=1, le=64, description="requests at once")
    budget: Budget = group("What a run may cost; null: no limit of this kind.", calls=20)
    budget_per_scope: Budget = group("What each scope of a run may cost.")
    prices: dict[str, Price] = Field(
        {},
        description="What models cost that are not known, or cost you something else: by the name of the model.",
        examples=[{"my-model": {"input": 0.1, "output": 0.5}}],
    )


class Service(Section):
    """The service that runs the jobs, `consolidate serve`."""

    health_port: Annotated[int, Field(ge=1, le=65_535), Is("a port")] | None = Field(
        None, description="answers on this machine at http://127.0.0.1:PORT/health how it is doing", examples=[8790]
    )
    grace_minutes: int = Field(
        360,
        ge=1,
        le=10_080,
        description="how late a job may still begin, after a sleep of the machine or a long other one",
    )


class Watch(Section):
    """When it is an error that nothing happens: what `consolidate doctor` and messages call stopped."""

    grace_minutes: int = Field(
        360, ge=1, le=10_080, description="how long after its time and its period a job may be unfinished"
    )
    nights: int = Field(
        3, ge=2, le=365, description="so many nights in a row that decide nothing, or skip a step for the same reason"
    )


class Ping(Section):
    """
    Addresses of a dead man's switch, such as healthchecks: asked for when the night begins, ends well, or fails.

    It is what notices a machine that never woke.
    """

    start: SecretStr | None = Field(
        None, description="when a night begins", examples=["https://example.org/ping/0123/start"], repr=False
    )
    success: SecretStr | None = Field(
        None, description="when it has ended well", examples=["https://example.org/ping/0123"], repr=False
    )
    fail: SecretStr | None = Field(
        None, description="when it has failed", examples=["https://example.org/ping/0123/fail"], repr=False
    )
    timeout_seconds: float = Field(10, gt=0, le=120, description="how long one may take")

    _address = field_validator("start", "success", "fail")(lambda url: url and http_address(url))


class Metrics(Section):
    """Numbers for a monitoring system."""

    textfile: FilePath | None = Field(
        None,
        description="written after each job, for the textfile collector of Prometheus' node exporter",
        examples=["/var/lib/node_exporter/consolidator.prom"],
    )


HostName = Annotated[
    str,
    Field(max_length=253),
    spelled_as(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", "the name of a host; write e.g. memory.example.org"),
    Is("the name of a host"),
]


class Mcp(Section):
    """Serving memories to agents over HTTP, `consolidate mcp --http`."""

    token: Token | None = Field(
        None,
        description="what a client has to send as its bearer token; needed where others than this machine can reach "
        "the server. $CONSOLIDATOR_MCP_TOKEN comes first",
        examples=["${MCP_TOKEN}"],
        repr=False,
    )
    hosts: Annotated[tuple[HostName, ...], Field(strict=False)] = Field(
        (),
        description="more names under which clients reach it, such as that of a proxy before it; they need a token",
        examples=[["memory.example.org"]],
    )


class Settings(Section):
    """Everything that can be set."""

    store: Annotated[StoreUrl, FileToo()] | None = Field(
        None,
        description="Where the memories are: the path of a SQLite file, from the folder of this file, or a URL such as "
        "postgresql://ada@localhost/memories. Without it: memories.db in your data folder. --store and "
        "$CONSOLIDATOR_STORE come first.",
        examples=["memories.db"],
    )
    stores: dict[Name, StoreUrl] = Field(
        {},
        description="More stores, by names of your own: a job may name one.",
        examples=[{"team": "postgresql://ada:${DATABASE_PASSWORD}@localhost/memories"}],
    )
    sources: dict[Name, Source] = Field(
        {},
        description="Other systems' stores, by names of your own, which `consolidate pull`, `push` and `sync` take, "
        "and jobs.consolidate.sources. docs/sources.md tells what becomes of each.",
        examples=[{"claw": {"url": "claw-memory-ultra", "model": "openai:text-embedding-3-small"}}],
    )
    scopes: Scopes | None = Field(
        None,
        description='The scopes that jobs look after; "" is the empty one. Without it: all.',
        examples=[["user=ada,project=atlas", "user=ada"]],
    )
    time_zone: Zone | None = Field(
        None,
        description="Where the times of jobs are local. Without it: this machine's time zone.",
        examples=["Europe/Helsinki"],
    )
    rates: Rates = group()
    embedding: Embedding = group()
    day: Day = group()
    merge: Merge = group()
    report: Level = Field(
        "detailed",
        description="How much `consolidate run` prints: off, errors (only what went wrong), summary (one to three "
        "sentences) or detailed (the numbers, examples with reasons, how to take it back). A job prints no more of it "
        "than its level tells, and always a line that says how it ended.",
    )
    channels: dict[ChannelName, Channel] = Field(
        {}, description="Where messages go, by names of your own. `consolidate notify test NAME` tries one."
    )
    error_notification: bool = Field(
        True, description="Whether failures are told. false: no message says that something went wrong."
    )
    quiet: bool = Field(False, description="true: a job that did nothing sends no message.")
    persona: Annotated[str, Field(min_length=1, max_length=500), Is("a sentence or two")] | None = Field(
        None,
        description="How a language model is to sound where it writes summaries. Without it: friendly and plain.",
        examples=["A dry night porter who calls me Captain."],
    )
    salience: FilePath | None = Field(
        None,
        description="What you want remembered, in your own words: a text file of up to 4,000 characters, told to "
        "agents as guidance. Without it: salience.md beside this file, else beside the store, if it is there.",
        examples=["salience.md"],
    )
    jobs: Jobs = group()
    service: Service = group()
    watch: Watch = group()
    ping: Ping = group()
    metrics: Metrics = group()
    mcp: Mcp = group()
    agents: Annotated[dict[Name, Agent], AfterValidator(told_apart)] = Field(
        {},
        description="Agents by names of your own, and the scopes that each may use: `mcp`, `remember`, `recall` and "
        "`rate` with --agent NAME, and Python's Memory(agent=NAME). Over HTTP the token tells which one it is.",
        examples=[{"nurse": {"scopes": ["user=ada"], "token": "${NURSE_TOKEN}"}}],
    )
