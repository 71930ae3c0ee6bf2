"""What judging would take before anything is asked: how many questions, their price, the first word for word."""

from __future__ import annotations

from pathlib import Path

from apportion.environments.sotopia.evaluation.judging import JudgingChoice
from apportion.environments.sotopia.evaluation.language_model import Question
from apportion.environments.sotopia.evaluation.reply import TOKENS_A_PERSON
from apportion.llm_client.cache.lookup import kept_replies
from apportion.llm_client.cost.estimate import CostEstimate, estimate
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.preview import Preview


def price(choice: JudgingChoice, out: Path) -> list[CostEstimate]:
    """By model, what a choice would take; replies that are kept in ``out`` count as answered. Asks nobody.

    Raises
    ------
    InputError
        As `JudgingChoice.models` and `episodes`; a price table or a file of replies that cannot be read.
    """
    priced = []
    for questions in _by_model(choice):
        llm = questions[0].judge.settings
        asked = [(question.request(), len(question.people) * TOKENS_A_PERSON) for question in questions]
        cache = choice.chosen.cache_in(out)
        with prefixed(choice.called("model")), kept_replies(llm, cache, choice.chosen.recorded) as kept:
            priced.append(estimate(llm.model, asked, kept, find_price(llm.model, choice.chosen.prices)))
    return priced


def preview(choice: JudgingChoice, out: Path, count: int) -> list[Preview]:
    """By model the first ``count`` requests that would be sent; raises as `price`."""
    shown = []
    for questions in _by_model(choice):
        llm = questions[0].judge.settings
        cache = choice.chosen.cache_in(out)
        with prefixed(choice.called("model")), kept_replies(llm, cache, choice.chosen.recorded) as kept:
            left = [request for question in questions if kept(request := question.request()) is None]
        consent = f"{choice.called('allow_host')} {llm.consent_host or llm.host}"
        shown.append(Preview(llm, tuple(left[:count]), len(left), consent, choice.called("preview")))
    return shown


def _by_model(choice: JudgingChoice) -> list[list[Question]]:
    by_model: dict[str, list[Question]] = {}
    for question in choice.questions():
        by_model.setdefault(question.judge.settings.model, []).append(question)
    return list(by_model.values())
