"""The server itself: many at once, nothing left behind, and as a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest

from tests.providers.behaviours import slow
from tests.providers.provider import Provider
from tests.providers.questions import for_claude, for_gpt
from tests.providers.server import serving

ROOT = Path(__file__).parents[2]


def test_many_at_once(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """Questions of many threads are each answered, counted and numbered once."""
    released = threading.Event()
    provider.always(slow(released))

    def ask(number: int) -> str:
        contents = (f"fact {number}", f"fact {number} again")
        if number % 2:
            return claude.messages.create(**for_claude(*contents)).content[0].text
        return gpt.chat.completions.create(**for_gpt(*contents)).choices[0].message.content

    with ThreadPoolExecutor(24) as pool:
        asked = [pool.submit(ask, number) for number in range(24)]
        provider.wait_for_calls(24)
        released.set()
        said = [json.loads(each.result())["text"] for each in asked]
    assert said == [f"fact {number} fact {number} again" for number in range(24)]
    assert provider.spent.questions == provider.most_at_once == 24
    assert {call.number for call in provider.calls} == set(range(1, 25))
    assert {asked.number for asked in provider.asked} == set(range(1, 25))
    assert provider.paid_twice() == []


def test_stops_cleanly() -> None:
    """A server that stops leaves no thread, no open connection, and nobody waiting for it."""
    before = threading.active_count()
    with serving(Provider()) as provider:
        provider.then(None, slow(threading.Event()))
        with httpx2.Client(base_url=provider.openai_url, headers={"authorization": "Bearer test-key"}) as client:
            assert client.post("/chat/completions", json=for_gpt("a")).status_code == 200
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(client.post, "/chat/completions", json=for_gpt("a"))
                provider.wait_for_calls(2)
                provider.stop_waiting()
                assert asked.result().status_code == 200
            port = int(provider.address.rpartition(":")[2])
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_starts_and_stops_quickly() -> None:
    """Twenty servers come and go within a second each."""
    began = time.monotonic()
    for _ in range(20):
        with serving(Provider()):
            pass
    assert time.monotonic() - began < 20


def test_answer_of_a_test_fails(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A test's answer that raises is a complaint, not a reply."""
    provider.answer = lambda sources, request: {}["nothing"]
    with pytest.raises(anthropic.APIConnectionError):
        claude.messages.create(**for_claude("a"))
    assert provider.complaints == ["the test server itself failed: KeyError('nothing')"]
    provider.complaints.clear()


def test_process(tmp_path: Path) -> None:
    """As a process it says its addresses, logs its calls, takes orders, and stops when told."""
    log = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "tests.providers.serve", "--answer", "distinct", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        environ = dict(process.stdout.readline().strip().split("=", 1) for _ in range(4))
        assert set(environ) == {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"}
        address = environ["ANTHROPIC_BASE_URL"]
        with anthropic.Anthropic(api_key=environ["ANTHROPIC_API_KEY"], base_url=address) as claude:
            assert json.loads(claude.messages.create(**for_claude("a")).content[0].text)["verdict"] == "distinct"
            httpx2.post(f"{address}/-/answer/concatenate")
            batch = claude.messages.batches.create(requests=[{"custom_id": "a", "params": for_claude("a", "b")}])
            assert httpx2.post(f"{address}/-/end").json()["questions"] == 2
            (result,) = claude.messages.batches.results(batch.id)
            assert json.loads(result.result.message.content[0].text)["text"] == "a b"
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(20) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["number"], line["path"], line["status"]) for line in lines[:2]] == [
        (1, "/v1/messages", 200), (2, "/-/answer/concatenate", 200),
    ]  # fmt: skip
    assert len(lines) == 6
