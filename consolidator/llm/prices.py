"""
Which models are asked where none is named, and what asking costs.

List prices in US dollars for a million tokens, as the providers gave them in November 2026 for live requests of up to
`LONGEST_QUESTION` tokens (longer ones cost more at some). A batch costs half. `merge.prices` comes first.
"""

import re

from consolidator.settings import Price

DEFAULT_MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}
LONGEST_QUESTION = 100_000
OWN_PLACES = {"anthropic": "api.anthropic.com", "openai": "api.openai.com/v1"}

_LISTED = {
    "claude-haiku-5-5": (0.10, 0.50),
    "claude-haiku-4-5": (1, 5),
    "claude-sonnet-5-5": (2, 10),
    "claude-sonnet-5": (2, 10),
    "claude-opus-5-5": (4, 20),
    "claude-opus-5": (5, 25),
    "claude-fable-5-1": (10, 50),
    "gpt-6-luna": (0.10, 0.50),
    "gpt-6-sol": (2, 10),
    "gpt-6-astra": (10, 50),
    "gpt-5.6-luna": (0.20, 1.20),
    "gpt-5.6-terra": (2, 12),
}
PRICES = {name: Price(input=given, output=taken) for name, (given, taken) in _LISTED.items()}
FREE = Price(input=0, output=0)
_DAY_OF_RELEASE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


def price_of(provider: str, name: str, place: str, set_prices: dict[str, Price]) -> Price | None:
    """
    What a model costs; None where that is not known.

    place: host, port and path where it is asked. A model on this machine is free, unless a price is set; list
    prices hold at the provider's own address.
    """
    plain = _DAY_OF_RELEASE.sub("", name)
    if name in set_prices or plain in set_prices:
        return set_prices.get(name) or set_prices[plain]
    if is_local(place):
        return FREE
    host, own = host_of(place), host_of(OWN_PLACES[provider])
    return PRICES.get(plain) if host == own or host.endswith(f".{own}") else None


def in_batch(price: Price | None) -> Price | None:
    """The price of the same in a batch."""
    return price and Price(input=price.input / 2, output=price.output / 2)


def is_local(place: str) -> bool:
    """Whether a place is on this machine."""
    host = host_of(place)
    return host in ("localhost", "[::1]") or host.endswith(".localhost") or host.startswith("127.")


def host_of(place: str) -> str:
    """A place without its port and path."""
    return re.sub(r"(?::\d+)?(?:/.*)?$", "", place)
