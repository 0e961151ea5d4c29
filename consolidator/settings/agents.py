"""Agents: who may use which scopes."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from consolidator.errors import BadInput
from consolidator.scopes import EMPTY, spell
from consolidator.settings.kinds import Is, Scope, Section, Token, once


class Agent(Section):
    """An agent."""

    scopes: Annotated[
        tuple[Scope, ...], Field(strict=False, min_length=1), AfterValidator(once), Is("a list of one scope or more")
    ] = Field(description="the scopes that it may use, the one that it works in first", examples=[["user=ada"]])
    token: Token | None = Field(
        None,
        description="by which it is known over HTTP, as its bearer token; then nobody comes in there without one",
        examples=["${NURSE_TOKEN}"],
        repr=False,
    )


def told_apart(agents: dict[str, Agent]) -> dict[str, Agent]:
    """Agents, where no two have the same token."""
    tokens = [agent.token.get_secret_value() for agent in agents.values() if agent.token]
    if len({*tokens}) < len(tokens):
        raise ValueError("two agents have the same token; give each its own")
    return agents


def scope_of(agents: Mapping[str, Agent], name: str | None, asked: str | None) -> str:
    """
    The scope that is used, canonical: the one asked for, else the first of the agent, else, without one, the empty one.

    BadInput where there is no such agent, or it may not use that scope: whether there is such a one it does not hear.
    """
    if name is None:
        return EMPTY if asked is None else asked
    agent = agents.get(name)
    if agent is None:
        raise BadInput(f"there is no agent {name!r}; the settings name them under `agents:`")
    if asked is None:
        return agent.scopes[0]
    if asked not in agent.scopes:
        own = "; ".join(map(spell, agent.scopes))
        raise BadInput(f"agent {name}: may not use the scope {spell(asked)}; it has {own}")
    return asked
