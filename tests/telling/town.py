"""A life with people who want to hear of it."""

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.store.engine import open_store
from tests.cli.conftest import Ended
from tests.cli.life import Life
from tests.lives import day
from tests.notify.servers import Answer, Server

DOWN = Answer(503)


@dataclass
class Town:
    """chat: where its webhook leads."""

    life: Life
    chat: Server

    def say(self, channels: dict[str, Any] | None = None, merge: str = "{retries: 0}", **sections: Any) -> None:
        """Its settings. Without channels: one webhook, `chat`."""
        hook = {"chat": {"type": "webhook", "url": self.chat.url + "/hook"}}
        given = {"channels": hook if channels is None else channels, **sections}
        lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in given.items()]
        self.life.say("\n".join(["time_zone: UTC", "embedding: {model: none}", f"merge: {merge}", *lines]) + "\n")

    def job(self, name: str = "consolidate", *options: object, at: float | None = None) -> Ended:
        """A job, on a day where one is given."""
        if at is not None:
            self.life.wall(day(at))
        return self.life("job", name, *options)

    @property
    def heard(self) -> list[dict[str, Any]]:
        """What the webhook was told."""
        return [request.json for request in self.chat.arrived]

    def rows(self, table: sa.Table) -> list[Any]:
        """All rows of a table."""
        with open_store(self.life.url, mode="read") as store, store.read() as conn:
            return list(conn.execute(sa.select(table)))
