"""How a command ends: with an exit code and, where something is wrong, one line."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from consolidator.cli import output
from consolidator.errors import TRACEBACK_VARIABLE, BadSettings, ConsolidatorError, Terminated
from consolidator.schedule.stopping import on_sigterm

INTERRUPTED, TERMINATED = 130, 143
_FAULT_LENGTH = 300


def ending(act: Callable[[], int], *, last: bool = False) -> int:
    """
    The exit code of a command. SIGTERM ends it as Ctrl-C does, unless it sees to that itself.

    last: the process ends with it: from then on no SIGTERM gives it another exit code.
    """
    output.make_streams_safe()
    # A night makes much that stays and few circles: looking for them again and again took a fifth of its time.
    gc.set_threshold(100_000, 50, 1_000)
    try:
        with on_sigterm(_end_here, afterwards=signal.SIG_IGN if last else None):
            code = act()
            sys.stdout.flush()
            return code
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        output.abandon_output()
        return ConsolidatorError.exit_code
    except BadSettings as error:
        return max(end(line, error.exit_code) for line in error.lines)
    except ConsolidatorError as error:
        return end(str(error), error.exit_code)
    except OSError as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        where = f"{error.filename}: " if error.filename else ""
        return end(f"{where}{error.strerror or error}", ConsolidatorError.exit_code)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        kind, what = type(error).__name__, str(getattr(error, "orig", error))[:_FAULT_LENGTH]  # never SQL's parameters
        return end(f"a fault of this program ({kind}: {what}); {TRACEBACK_VARIABLE}=1 shows where", 1)


def end(message: str, code: int) -> int:
    """Say what is wrong in one line."""
    with suppress(OSError):
        output.note(f"consolidate: {' '.join(message.split())}")
    return code


def _end_here() -> NoReturn:
    raise Terminated
