"""Letting a language model name intents, or say u_base itself; what that would take is priced and previewed before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from apportion.foundation.errors import UnitError
from apportion.llm_client.cache.lookup import kept_replies
from apportion.llm_client.cost.estimate import CostEstimate, estimate
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.instance import Instance

TOO_LONG = "Leave that turn out, or use a model with a longer context."


class Questions(Protocol):
    """What a model is asked about turns: `turns.intents.IntentQuestions`, `turns.base.BaseQuestions`."""

    @property
    def settings(self) -> LLMSettings:
        """The model, and how it is asked."""

    @property
    def tokens_a_request(self) -> int:
        """About what one reply takes."""

    def requests(self, instance: Instance) -> list[ChatRequest]:
        """What is asked about one turn."""

    def ask(self, instance: Instance, complete: Complete) -> Instance:
        """The turn with what was answered."""


@dataclass(frozen=True)
class Answered:
    """Turns with what was asked about them, and those of which no reply could be used, with why."""

    instances: tuple[Instance, ...]
    failed: tuple[tuple[str, str], ...]


def ask_in_turn(
    asked: Sequence[Questions],
    instances: Sequence[Instance],
    complete: Complete,
    concurrency: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Answered:
    """What is ``asked`` about every turn, one after the other.

    A turn of which no reply could be used is left out and told.

    Raises
    ------
    InputError
        No request can succeed until a person changes something.
    StoppedError
        The budget is used up; replies are kept, and the same call goes on.
    """

    def one(instance: Instance) -> Instance | tuple[str, str]:
        name = instance.name
        try:
            for questions in asked:
                instance = questions.ask(instance, complete)
            return instance
        except UnitError as error:
            return name, str(error)

    done: list[Instance] = []
    failed: list[tuple[str, str]] = []
    with ThreadPoolExecutor(max(1, min(concurrency, len(instances)))) as pool:
        try:
            for answer in pool.map(one, instances):
                if isinstance(answer, Instance):
                    done.append(answer)
                else:
                    failed.append(answer)
                progress(len(done) + len(failed), len(instances))
        finally:
            pool.shutdown(cancel_futures=True)
    return Answered(tuple(done), tuple(failed))


def price(
    asked: Sequence[tuple[Questions, Sequence[Instance]]], chosen: ModelSpec, cache: Path, called: Called
) -> CostEstimate:
    """How many requests there are, how many have a reply already, and what the others would cost. Asks nobody.

    Raises
    ------
    InputError
        Kept replies or a price table cannot be read.
    """
    settings = asked[0][0].settings
    requests = [
        (request, questions.tokens_a_request)
        for questions, instances in asked
        for instance in instances
        for request in questions.requests(instance)
    ]
    with prefixed(called("model")):
        known = find_price(settings.model, chosen.prices)
        with kept_replies(settings, cache, chosen.recorded) as find:
            return estimate(settings.model, requests, find, known)


def preview(asked: Sequence[tuple[Questions, Sequence[Instance]]], count: int, called: Called) -> Preview:
    """The first ``count`` requests, word for word."""
    settings = asked[0][0].settings
    requests = [request for questions, of in asked for instance in of for request in questions.requests(instance)]
    return Preview(
        settings,
        tuple(requests[:count]),
        len(requests),
        f"{called('allow_host')} {settings.consent_host or settings.host}",
        called("preview"),
        ("each is what a leader knows of its own game; the follower's role is in none",),
    )


def unnamed(instances: Sequence[Instance]) -> tuple[Instance, ...]:
    """Those of ``instances`` whose intents nobody has named yet."""
    return tuple(instance for instance in instances if not instance.desired)
