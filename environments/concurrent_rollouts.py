"""Plays beside each other: threads that the sessions of one process share, since what takes time is a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import count
from queue import PriorityQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from apportion.foundation.errors import UnitError

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


def side_by_side(
    work: Callable[[_Given], _Result], given: Sequence[_Given], at_once: int, first: Callable[[_Given], float]
) -> list[_Result | UnitError]:
    """What ``work`` makes of each of ``given``, or how it failed, in their order.

    The results do not depend on ``at_once``: one that fails stops none of the others, whose replies are paid then, and
    kept. What takes longest should begin first, so that the end waits for no straggler.

    ``work``: Safe to call from several threads; must not call this function itself. ``given``: What it is called with.
    ``at_once``: Threads, shared by all that asks for so many at once. ``first``: What begins earlier has less of it,
    whichever call it came by. Raises Exception: Whatever ``work`` raises but `UnitError`: what has not begun is left
    alone then, what has is waited for.
    """
    threads = _threads_of(at_once)
    begun = [threads.submit(first(one), partial(_tried, work, one)) for one in given]
    wait(begun, return_when=FIRST_EXCEPTION)
    for future in begun:
        future.cancel()
    wait(begun)
    for future in begun:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return [future.result() for future in begun]


def mapped(work: Callable[[_Given], _Result], given: Sequence[_Given], at_once: int) -> list[_Result]:
    """``work`` of each of ``given``, in their order, on threads of their own: it may call `side_by_side`.

    Raises Exception: the first in their order, once all are done.
    """
    if at_once <= 1:
        return [work(one) for one in given]
    with ThreadPoolExecutor(at_once, thread_name_prefix="episode") as threads:
        return list(threads.map(work, given))


def _tried(work: Callable[[_Given], _Result], given: _Given) -> _Result | UnitError:
    try:
        return work(given)
    except UnitError as error:
        return error


class _Threads:
    """Threads that take what is to begin first; they end with the process, whatever they wait for."""

    def __init__(self, at_once: int) -> None:
        self._waiting: PriorityQueue[tuple[float, int, Future[Any], Callable[[], Any]]] = PriorityQueue()
        self._numbers = count()
        for number in range(at_once):
            Thread(target=self._work, name=f"play-{number}", daemon=True).start()

    def submit(self, first: float, work: Callable[[], _Result]) -> Future[_Result]:
        """Have ``work`` done after all of which ``first`` is less, and after what came before with as much."""
        future: Future[_Result] = Future()
        self._waiting.put((first, next(self._numbers), future, work))
        return future

    def _work(self) -> None:
        while True:
            _, _, future, work = self._waiting.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # Raised again where it is waited for.
                    future.set_exception(error)
            del future, work  # Nothing of an episode is kept until the next one comes.


_one_at_a_time = Lock()


def _threads_of(at_once: int) -> _Threads:
    with _one_at_a_time:  # Else two that come first at once would each have threads of their own.
        return _threads(at_once, os.getpid())


@cache
def _threads(at_once: int, process: int) -> _Threads:
    """Those of this process: a fork has none of its parent's."""
    return _Threads(at_once)
