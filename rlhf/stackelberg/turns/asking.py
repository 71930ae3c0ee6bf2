"""Letting a language model name intents, and what that would take: priced, previewed, kept before they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from foundation.errors import UnitError
from llm_client.asker import Complete
from llm_client.chosen import Called, ChosenModel
from llm_client.cost.estimate import CostEstimate, estimate
from llm_client.cost.prices import find_price
from llm_client.errors import prefixed
from llm_client.kept.lookup import kept_replies
from llm_client.preview import Preview
from rlhf.stackelberg.turns.instance import Instance
from rlhf.stackelberg.turns.intents import IntentQuestions, every_request

TOO_LONG = "Leave that turn out, or use a model with a longer context."


@dataclass(frozen=True)
class Named:
    """Turns with their intents, and those of which no reply could be used, with why."""

    instances: tuple[Instance, ...]
    failed: tuple[tuple[str, str], ...]


def name_intents(
    questions: IntentQuestions,
    instances: Sequence[Instance],
    complete: Complete,
    concurrency: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Named:
    """The intents of every turn (Eq. 1); turns that have them are not asked about again.

    A turn of which no reply could be used is left out and told.

    Raises
    ------
    InputError
        No request can succeed until a person changes something.
    StoppedError
        The budget is used up; replies are kept, and the same call goes on.
    """

    def one(instance: Instance) -> Instance | tuple[str, str]:
        if instance.desired:
            return instance
        try:
            return questions.ask(instance, complete)
        except UnitError as error:
            return instance.name, str(error)

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
    return Named(tuple(done), tuple(failed))


def price(
    questions: IntentQuestions, instances: Sequence[Instance], chosen: ChosenModel, cache: Path, called: Called
) -> CostEstimate:
    """How many requests there are, how many have a reply already, and what the others would cost. Asks nobody.

    Raises
    ------
    InputError
        Kept replies or a price table cannot be read.
    """
    settings = questions.settings
    requests = [(request, questions.tokens_a_request) for request in every_request(questions, unnamed(instances))]
    with prefixed(called("model")):
        known = find_price(settings.model, chosen.prices)
        with kept_replies(settings, cache, chosen.recorded) as find:
            return estimate(settings.model, requests, find, known)


def preview(questions: IntentQuestions, instances: Sequence[Instance], count: int, called: Called) -> Preview:
    """The first ``count`` requests, word for word."""
    settings = questions.settings
    requests = every_request(questions, unnamed(instances))
    return Preview(
        settings,
        tuple(requests[:count]),
        len(requests),
        f"{called('send_to')} {settings.consent_host or settings.host}",
        called("preview"),
        ("each is what a leader knows of its own game; the follower's role is in none",),
    )


def unnamed(instances: Sequence[Instance]) -> list[Instance]:
    """Those of ``instances`` whose intents nobody has named yet."""
    return [instance for instance in instances if not instance.desired]
