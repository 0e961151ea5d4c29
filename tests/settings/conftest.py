"""Settings as a person writes them, and what is said of them."""

from collections.abc import Callable, Mapping

import pytest

from consolidator.errors import BadSettings
from consolidator.settings import parse_settings

Refused = Callable[..., list[str]]


@pytest.fixture
def refused() -> Refused:
    """Gives a text that has to be refused, and returns what is said: a line for each problem, without the name."""

    def give(text: str, environ: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(BadSettings) as refusal:
            parse_settings(text, "s.yaml", environ=environ or {})
        assert all(line.startswith("s.yaml: ") and "\n" not in line for line in refusal.value.lines)
        return [line.removeprefix("s.yaml: ") for line in refusal.value.lines]

    return give
