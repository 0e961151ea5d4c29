"""An end to waiting, for work that may never return."""

import threading
from collections.abc import Callable

from consolidator.notify.outcome import Outcome, failed


def within(seconds: float, work: Callable[[], Outcome]) -> Outcome:
    """
    The outcome of work that talks to others; where it takes longer than `seconds`, that is the outcome.

    What is not awaited any more goes on in its thread, may still arrive, and ends with the process.
    """
    outcomes: list[Outcome] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            outcomes.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            errors.append(error)

    thread = threading.Thread(target=do, daemon=True, name="consolidator-notify")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return outcomes[0] if outcomes else failed(f"not done within {seconds:g} s; it may have arrived all the same")
