"""One statement for many rows, as the driver takes them: nothing is worked out anew for each."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa

T = TypeVar("T")


def for_each(
    conn: sa.Connection, statement: sa.UpdateBase, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """
    Execute a statement for each row, in their order.

    names: of its bound values, in the order of a row's. They go to the driver as they are: whole numbers, floats,
    texts, booleans, None.
    """
    if not rows:
        return
    compiled = statement.compile(dialect=conn.dialect)
    fixed = {name: value for name, value in compiled.params.items() if name not in names}
    if compiled.positiontup is None:
        conn.exec_driver_sql(str(compiled), [{**fixed, **dict(zip(names, row, strict=True))} for row in rows])
        return
    given = [*names, *fixed]
    tail = tuple(fixed.values())
    if list(compiled.positiontup) == given:
        conn.exec_driver_sql(str(compiled), [(*row, *tail) for row in rows])
        return
    in_place = itemgetter(*(given.index(name) for name in compiled.positiontup))
    conn.exec_driver_sql(str(compiled), [in_place((*row, *tail)) for row in rows])


def portions(all_of_it: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Some at a time, in their order."""
    return (all_of_it[start : start + size] for start in range(0, len(all_of_it), size))
