"""Outage: a store that is gone is told of at once and without it, and once only: a file remembers what was told."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from consolidator.instants import NIGHT
from consolidator.notify.channels import Channel
from consolidator.notify.deliver import tell_directly
from consolidator.notify.message import Message
from consolidator.notify.send import Emit

_VANISHED = "vanished"


@dataclass(frozen=True)
class Outage:
    """
    Of one store, named by its URL. folder: where state is kept, made when it is needed.

    Where the folder cannot be written it tells again each time, for telling twice is better than never.
    """

    folder: Path
    url: str

    @property
    def path(self) -> Path:
        """The file that is there while an outage is known."""
        return self.folder / f"outage-{sha256(self.url.encode()).hexdigest()[:12]}.json"

    def tell(
        self,
        message: Message | None,
        channels: Mapping[str, Channel],
        *,
        reason: str | None,
        now: int,
        emit: Emit,
    ) -> None:
        """
        Send a message, unless that was told within a day.

        reason: why the store cannot be opened; None: it vanished in the midst of work, and the reason found when it is
        next opened is that of the same outage.
        """
        before = self._read()
        why = _VANISHED if reason is None else reason.partition(" (")[0]
        known = before.get("reason")
        if now - before.get("told_at", now - NIGHT) >= NIGHT or (known not in (why, _VANISHED)):
            if message is not None:
                tell_directly(message, channels, now=now, emit=emit)
            self._write(why, now)
        elif known != why:
            self._write(why, before["told_at"])

    def over(self) -> None:
        """The store is back."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) and isinstance(found.get("told_at"), int) else {}

    def _write(self, reason: str, told_at: int) -> None:
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.write_text(json.dumps({"reason": reason, "told_at": told_at}), encoding="utf-8")
