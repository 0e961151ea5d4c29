"""
What goes to a person or a program: data to standard output, everything else to standard error.

Colour and progress bars only on a terminal. A reader that has seen enough (a closed pipe) is no failure.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from consolidator.errors import BadInput, ConsolidatorError

WHOLE = 1_000_000
ID_SHOWN = 12  # characters of an id where a person reads it
_FULL_WIDTH = 10_000
_NARROWEST = 8


def make_streams_safe() -> None:
    """No text can fail to be printed: files and pipes get UTF-8, a terminal a sign for what it cannot show."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the program lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class _Speaker:
    """Who says what this process prints, where several share its output."""

    name: str | None = None


def speak_as(name: str) -> None:
    """From now on, begin each line of this process with a name, which stands for the program's own."""
    _Speaker.name = name


def _spoken(text: str) -> str:
    text = text.removesuffix("\n")
    if _Speaker.name is not None:
        text = "\n".join(f"{_Speaker.name}: {line.removeprefix('consolidate: ')}".rstrip() for line in text.split("\n"))
    return text + "\n"


def emit(text: str) -> None:
    """Print to standard output."""
    try:
        sys.stdout.write(_spoken(text))
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()


def abandon_output() -> None:
    """Nobody reads standard output any more: what is still to come goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def emit_json(document: Any) -> None:
    """Print one JSON document to standard output."""
    from consolidator.report.document import dumps

    emit(dumps(document))


def note(text: str) -> None:
    """Say something to the person that is not data."""
    sys.stderr.write(_spoken(text))


def on_terminal(stream: IO[str]) -> bool:
    """Whether a person sees the stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """The text, bold where a terminal shows colours."""
    if not on_terminal(sys.stdout) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[1m{text}\x1b[0m"


def one_line(text: str, length: int = WHOLE) -> str:
    """A memory's text as one line that is harmless on a terminal."""
    from consolidator.report.tame import one_line

    return one_line(text, length)


def harmless(text: str) -> str:
    """A memory's text with its lines, each harmless on a terminal."""
    return "\n".join(one_line(line) for line in text.splitlines())


def emit_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """
    Print aligned columns. On a terminal the last is cut to its width; elsewhere nothing is cut.

    Cells are as wide as they look: Chinese characters take two columns.
    """
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console

    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    room = Console().width if on_terminal(sys.stdout) else _FULL_WIDTH
    left = max(room - sum(width + 2 for width in widths[:-1]), _NARROWEST)
    lines = []
    for row in (list(heads), *cells):
        last = row[-1]
        if cell_len(last) > left and on_terminal(sys.stdout):
            last = set_cell_size(last, left - 1).rstrip() + "…"
        pieces = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join([*pieces, last]).rstrip())
    emit("\n".join([bold(lines[0]), *lines[1:]]))


def emit_pairs(pairs: Mapping[str, object]) -> None:
    """Print names and values, one a line; what is None or empty is left out."""
    shown = {name: value for name, value in pairs.items() if value not in (None, "", [], ())}
    width = max(map(len, shown), default=0)
    emit("\n".join(f"{name:<{width}}  {one_line(str(value))}" for name, value in shown.items()))


@dataclass(frozen=True)
class Advance:
    """How work goes on: called with so many steps more, or told what is done now."""

    by: Callable[[int], object]
    say: Callable[[str], object]

    def __call__(self, steps: int) -> None:
        """So many steps are done."""
        self.by(steps)


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator["Advance"]:
    """A bar on standard error while work goes on, where a person sees it; what it gives is called with each advance."""
    if not on_terminal(sys.stderr):
        yield Advance(lambda _: None, lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield Advance(lambda steps: bar.advance(task, steps), lambda text: bar.update(task, description=text))


@contextmanager
def output_file(path: Path | None, *, never: Path | None = None) -> Iterator[IO[bytes]]:
    """
    Where `-o` sends data: standard output, or a file that appears whole or not at all.

    never: a file that must not be overwritten, the store itself.
    """
    if path is None or str(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if never is not None and os.path.realpath(path) == os.path.realpath(never):
        raise BadInput(f"{path}: is the store itself; name another file")
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise BadInput(f"{path}: is a folder; name a file in it")
        with open_or_refuse(path, "wb") as file:  # a device or a pipe
            yield file
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open_or_refuse(part, "wb", shown=path) as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise ConsolidatorError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def send(text: str, output: Path | None, *, never: Path | None = None) -> None:
    """Give text to standard output or to a file."""
    if output is None or str(output) == "-":
        emit(text)
        return
    with output_file(output, never=never) as file:
        file.write(f"{text}\n".encode())


def open_or_refuse(path: Path, mode: str, *, shown: Path | None = None) -> BinaryIO:
    """An open file. BadInput says why not."""
    try:
        return cast(BinaryIO, open(path, mode))
    except OSError as error:
        raise BadInput(f"{shown or path}: cannot be opened: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"{str(shown or path)!r}: cannot be opened: {error}") from None
