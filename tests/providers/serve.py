"""
The provider as a process of its own: for a client that is killed, and to try by hand.

    python -m tests.providers.serve --port 8123 --answer concatenate --log calls.jsonl

prints the base URLs, then serves until it is told to stop. Each call is a line of the log. Besides the providers' own
paths there are three: POST /-/end[/OUTCOME] ends the batches under way, POST /-/answer/NAME changes the answer, and
GET /-/spent says what has to be paid, and which clusters twice.
"""

import argparse
import signal
import threading
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from tests.providers.answers import BY_NAME
from tests.providers.behaviours import Behaviour
from tests.providers.provider import Provider
from tests.providers.server import serving
from tests.providers.wire import Call, Reply, as_json, json_reply

OUTCOMES = ("succeeded", "errored", "canceled", "expired", "missing")


class ToldByHand(Provider):
    """A provider that is told what to do over HTTP too, and writes down its calls. clock: whether it lives by one."""

    def __init__(self, log: TextIO | None, *, clock: bool, **more: Any) -> None:
        super().__init__(**more)
        self._log = log
        self._clock = clock

    def handle(self, call: Call) -> tuple[Reply, Behaviour | None]:
        if self._clock:
            self.now = datetime.now(UTC)  # noqa: TID251 - by hand the client lives by the clock too
        if not call.path.startswith("/-/"):
            return super().handle(call)
        what, _, name = call.path.removeprefix("/-/").partition("/")
        if what == "end" and name in ("", *OUTCOMES):
            self.batches.end(name or None)  # type: ignore[arg-type]
        elif what == "answer" and name in BY_NAME:
            self.answer = BY_NAME[name]
        elif what != "spent":
            return json_reply({"error": f"no such order: {call.path}"}, 404), None
        return json_reply({**self.spent._asdict(), "paid_twice": self.paid_twice()}), None

    def go_out(self, call: Call, status: int | None) -> None:
        super().go_out(call, status)
        if self._log:
            known = {"number": call.number, "method": call.method, "path": call.path, "status": status}
            body = call.body if isinstance(call.body, dict) and "file" not in call.body else None
            self._log.write(f"{as_json({**known, 'behaviour': call.behaviour, 'body': body})}\n")
            self._log.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.providers.serve")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--answer", choices=sorted(BY_NAME), default="concatenate")
    parser.add_argument("--key", help="the only one that is right; default: any will do")
    parser.add_argument("--end-batches", action="store_true", help="each as soon as it is made")
    parser.add_argument("--now", type=datetime.fromisoformat, help="with its offset; default: by the clock")
    parser.add_argument("--log", type=Path, help="a file for the calls, one JSON object a line")
    given = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with given.log.open("a", encoding="utf-8") if given.log else nullcontext() as log:
        provider = ToldByHand(log, clock=given.now is None, answer=BY_NAME[given.answer])
        provider.key, provider.batches.at_once = given.key, given.end_batches
        if given.now:
            provider.now = given.now.astimezone(UTC)
        with serving(provider, given.port):
            for name, value in {**provider.anthropic_environ, **provider.openai_environ}.items():
                print(f"{name}={value}", flush=True)  # noqa: T201
            stop.wait()


if __name__ == "__main__":
    main()
