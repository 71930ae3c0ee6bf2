"""Processes that begin with the libraries imported, so that killing and starting a training again takes no minutes.

A server imports them once, computes nothing, and each process is a fork of it: what is killed is a process like any.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

LIBRARIES = [
    "transformers",
    "peft",
    "trl",
    "apportion.rlhf.alignment",
    "apportion.rlhf.trainers.grpo_rloo",
    "apportion.rlhf.trainers.preferences",
    "apportion.rlhf.trainers.supervised",
]

Tell = Callable[[Any], None]


@contextmanager
def forked(target: Callable[..., None], *arguments: Any) -> Iterator[tuple[BaseProcess, Iterator[Any]]]:
    """``target(tell, *arguments)`` in a process, and what it tells until it ends; it has ended when this is left."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    heard, told = context.Pipe(duplex=False)
    process = context.Process(target=_one_thread, args=(target, told, arguments))
    process.start()
    told.close()
    try:
        yield process, _until_the_end(heard)
    except BaseException:
        process.kill()  # It may wait to be killed: a test that fails does not wait with it.
        raise
    finally:
        process.join()
        heard.close()


def ended(target: Callable[..., None], *arguments: Any) -> list[Any]:
    """All that ``target(tell, *arguments)`` tells in a process that ends well."""
    with forked(target, *arguments) as (process, told):
        said = list(told)
    assert process.exitcode == 0
    return said


def killed(target: Callable[..., None], *arguments: Any, at: Callable[[Any], bool]) -> None:
    """Kill (SIGKILL) the process as soon as it tells what ``at`` waits for; it must not have ended before."""
    with forked(target, *arguments) as (process, told):
        assert any(at(said) for said in told)
        process.kill()
    assert process.exitcode == -signal.SIGKILL


def _one_thread(target: Callable[..., None], told: Connection, arguments: tuple[Any, ...]) -> None:
    import torch

    torch.set_num_threads(1)  # As many as in every process that its results are compared with.
    target(told.send, *arguments)


def _until_the_end(heard: Connection) -> Iterator[Any]:
    while True:
        try:
            yield heard.recv()
        except EOFError:
            return
