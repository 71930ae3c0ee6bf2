"""What a command asks one model in all: priced or shown before anything is sent, then asked beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from apportion.foundation.errors import UnitError
from apportion.llm_client.cache.recorded import kept_replies
from apportion.llm_client.cost.estimate import CostEstimate, estimate
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.settings import LLMSettings

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class PlannedRequests:
    """All requests of one piece of work to one model; nobody is asked here.

    ``llm``: the model, as ``chosen`` gave it. ``cache``: where replies are kept. ``requests``: each with about how many
    tokens its reply takes. ``called``: what a caller calls the fields of ``chosen``, for errors. ``notes``: what a
    person who looks at them should know.
    """

    llm: LLMSettings
    chosen: ModelSpec
    cache: Path
    requests: Sequence[tuple[ChatRequest, int]]
    called: Called = str
    notes: tuple[str, ...] = ()

    def price(self) -> CostEstimate:
        """How many there are, how many are answered already, and what the others would cost.

        Raises InputError: a price table or a file of replies cannot be read.
        """
        with prefixed(self.called("model")):
            known = find_price(self.llm.model, self.chosen.prices)
            with kept_replies(self.llm, self.cache, self.chosen.recorded) as kept:
                return estimate(self.llm.model, self.requests, kept, known)

    def preview(self, count: int, *, whole: bool = False) -> Preview:
        """The first ``count`` of those that would be sent; ``whole``: of all, answered or not. Raises as `price`."""
        left = [request for request, _ in self.requests]
        if not whole:
            with prefixed(self.called("model")), kept_replies(self.llm, self.cache, self.chosen.recorded) as kept:
                left = [request for request in left if kept(request) is None]
        consent = f"{self.called('allow_host')} {self.llm.consent_host or self.llm.host}"
        return Preview(self.llm, tuple(left[:count]), len(left), consent, self.called("preview"), self.notes)


def ask_each(
    ask: Callable[[_Asked], _Answer],
    asked: Sequence[_Asked],
    at_once: int,
    told: Callable[[int, _Asked], None] = lambda done, last: None,
) -> list[_Answer | UnitError]:
    """What ``ask`` gives for each of ``asked``, or the `UnitError` by which it failed, in their order.

    One that fails stops none of the others; any other error ends all of it.

    ``ask``: safe to call from several threads. ``at_once``: threads. ``told``: called after each with how many are
    done, and the one that is.
    """
    answers: dict[int, _Answer | UnitError] = {}
    pool = ThreadPoolExecutor(max(1, min(at_once, len(asked))))
    work = {pool.submit(ask, one): number for number, one in enumerate(asked)}
    try:
        for future in as_completed(work):
            number = work[future]
            try:
                answers[number] = future.result()
            except UnitError as error:
                answers[number] = error
            told(len(answers), asked[number])
    except Exception:
        pool.shutdown(cancel_futures=True)  # What is under way is paid: it is waited for, and kept.
        raise
    finally:
        # Not waited for: whoever is stopped here closes the client, which ends what is under way.
        pool.shutdown(wait=False, cancel_futures=True)
    return [answers[number] for number in range(len(asked))]
