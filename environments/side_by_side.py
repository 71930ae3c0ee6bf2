"""Plays beside each other: threads that the sessions of one process share, since what takes time is a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from foundation.errors import UnitError

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


def side_by_side(
    work: Callable[[_Given], _Result], given: Sequence[_Given], at_once: int, first: Callable[[_Given], float]
) -> list[_Result | UnitError]:
    """What ``work`` makes of each of ``given``, or how it failed, in their order.

    The results do not depend on ``at_once``: one that fails stops none of the others, whose replies are paid then, and
    kept. What takes longest should begin first, so that the end waits for no straggler.

    Parameters
    ----------
    work : callable
        Safe to call from several threads; must not call this function itself.
    given : sequence
        What it is called with.
    at_once : int
        Threads, shared by all that asks for so many at once.
    first : callable
        What begins earlier has less of it.

    Raises
    ------
    Exception
        Whatever ``work`` raises but `UnitError`: what has not begun is left alone then, what has is waited for.
    """
    threads = _threads(at_once)
    begun: dict[int, Future[_Result | UnitError]] = {}
    for number in sorted(range(len(given)), key=lambda number: first(given[number])):
        begun[number] = threads.submit(_tried, work, given[number])
    wait(begun.values(), return_when=FIRST_EXCEPTION)
    for future in begun.values():
        future.cancel()
    wait(begun.values())
    for future in begun.values():
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return [begun[number].result() for number in range(len(given))]


def _tried(work: Callable[[_Given], _Result], given: _Given) -> _Result | UnitError:
    try:
        return work(given)
    except UnitError as error:
        return error


@cache
def _threads(at_once: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(at_once, thread_name_prefix="play")
