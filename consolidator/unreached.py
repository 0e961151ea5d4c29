"""Why no answer came from elsewhere, in words. Nothing of an error's own text is repeated: it may hold an address."""

import socket
import ssl
from collections.abc import Iterator

_DEPTH = 12
_BROKEN_OFF = ("Protocol", "IncompleteRead", "ReadError", "WriteError", "ChunkedEncoding")


def why_unreached(error: BaseException, *, seconds: float) -> str:
    """What kept an answer back, as far as it is known. seconds: how long it was waited for."""
    for cause in _causes(error):
        name = type(cause).__name__
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"refused: its certificate is not trusted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "no secure connection could be made; check the address and its port"
        if isinstance(cause, socket.gaierror):
            return "no such host, or no network; check the address"
        if isinstance(cause, TimeoutError) or "Timeout" in name:
            return f"no answer within {seconds:g} s"
        if isinstance(cause, ConnectionRefusedError):
            return "nobody answers there; check that it runs, and its port"
        if isinstance(cause, ConnectionError) or any(part in name for part in _BROKEN_OFF):
            return "the connection broke off"
    return "cannot be reached; check the address"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it, the innermost first: HTTP libraries wrap in arguments and attributes too."""
    found: list[BaseException] = []
    todo: list[object] = [error]
    while todo and len(found) < _DEPTH:
        each = todo.pop()
        if isinstance(each, BaseException) and each not in found:
            found.append(each)
            todo += [each.__context__, each.__cause__, getattr(each, "reason", None), *each.args]
    return reversed(found)
