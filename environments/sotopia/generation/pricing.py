"""What generating would take before anything is asked, and its first requests word for word."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from apportion.environments.sotopia.generation.choice import GenerationChoice
from apportion.environments.sotopia.generation.generate import every_question
from apportion.llm_client.cache.lookup import kept_replies
from apportion.llm_client.cost.estimate import CostEstimate, estimate
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.preview import Preview


def price(choice: GenerationChoice, cache: Path) -> CostEstimate:
    """How many requests there are, how many of them have a reply already, and what the others would cost.

    Raises
    ------
    InputError
        The choice cannot be used, or kept replies or a price table cannot be read.
    """
    settings = choice.questions.settings
    asked = [(question.request, question.tokens) for question in every_question(choice)]
    with prefixed(choice.called("model")):
        known = find_price(settings.model, choice.chosen.prices)
        with kept_replies(settings, cache, choice.chosen.recorded) as find:
            return estimate(settings.model, asked, find, known)


def preview(choice: GenerationChoice, count: int) -> Preview:
    """The first ``count`` requests; raises InputError where the choice cannot be used."""
    settings = choice.questions.settings
    questions = list(every_question(choice))
    note = "of characters that are not made yet, the requests hold others in their place"
    return Preview(
        settings,
        tuple(question.request for question in islice(questions, count)),
        len(questions),
        f"{choice.called('allow_host')} {settings.consent_host or settings.host}",
        choice.called("preview"),
        (note,) if choice.kind == "characters" else (),
    )
