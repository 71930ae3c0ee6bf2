"""A study answered by a language model: every item that counts, with its responses in one order and in the other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from apportion.foundation.errors import UnitError
from apportion.foundation.files import write_atomically
from apportion.foundation.progress import Progress, silent
from apportion.llm_client.many_requests import PlannedRequests, ask_each
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.settings import LLMSettings
from apportion.study.design.answers import values_of
from apportion.study.design.folder import StudyFolder
from apportion.study.design.randomization import lettered
from apportion.study.judge.question import Question
from apportion.study.rows import AGAIN, JUDGED, PREFIX, AnswerRow, check_annotator_id, rows_text

TOO_LONG = "Use a model with a longer context."
JUDGE = "judge"
"""Who letters are drawn for: the same for all models, so that they are asked the same."""
_NO_ID = re.compile(r"[^A-Za-z0-9_.:-]")
_LONGEST_NAME = 50


@dataclass(frozen=True)
class JudgeChoice:
    """Which study a language model answers, and which model.

    ``called`` says what a caller calls the model's parameters, for errors.
    """

    study: StudyFolder
    chosen: ModelSpec = field(default_factory=ModelSpec)
    called: Called = str

    @cached_property
    def settings(self) -> LLMSettings:
        """The client's; InputError for a value that cannot be used."""
        return self.chosen.llm(self.called, temperature=0.0)

    @property
    def name(self) -> str:
        """The model's name as an id may have it; digits tell names apart that would be the same."""
        model = self.settings.model
        name = _NO_ID.sub("-", model)
        if name == model and len(name) <= _LONGEST_NAME:
            return name
        digits = hashlib.sha256(model.encode()).hexdigest()[:6]
        return f"{name[: _LONGEST_NAME - 7]}-{digits}"

    @property
    def out(self) -> Path:
        """Where its answers come to lie, beside the study; kept replies are in the same folder."""
        return self.study.path / JUDGED / f"{self.name.replace(':', '-')}.jsonl"

    @property
    def cache(self) -> Path:
        """The file that keeps each reply, by what was asked, so that none is paid twice."""
        return self.chosen.cache_in(self.study.path / JUDGED)

    def questions(self) -> list[Question]:
        """Everything that is asked: each item in the order of the draw, and in the other one where there is one."""
        questions = []
        for item in self.study.counted:
            shown = lettered(JUDGE, self.study.settings.seed, item)
            orders = [shown, shown[::-1]] if len(shown) > 1 else [shown]
            questions += [Question(self.study, item, order, number) for number, order in enumerate(orders, start=1)]
        return questions


@dataclass(frozen=True)
class JudgedStudy:
    """What came of it: the answers, and what got none, with why.

    ``moved`` has by criterion the share of items on which the two orders gave other answers (None: no item had two).
    """

    rows: tuple[AnswerRow, ...]
    failed: tuple[str, ...]
    moved: Mapping[str, float | None]

    def text(self) -> str:
        """The same for a person, a line each."""
        items = len({row.item for row in self.rows})
        lines = [f"answers: {len(self.rows):,} to {items:,} items, one for each order of an item's responses"]
        told = [f"{name} {share:.0%}" for name, share in self.moved.items() if share is not None]
        lines += [f"items on which the order alone changed the answer: {', '.join(told)}"] if told else []
        return "\n".join([*lines, *(f"not answered: {cause}" for cause in self.failed)])


def planned(choice: JudgeChoice) -> PlannedRequests:
    """What would be sent. Raises InputError: a setting that cannot be used."""
    llm = choice.settings
    asked = [(question.request(llm), question.tokens) for question in choice.questions()]
    return PlannedRequests(llm, choice.chosen, choice.cache, asked, choice.called)


def judge_study(choice: JudgeChoice, progress: Progress = silent) -> JudgedStudy:
    """Ask about every item in both orders, and write the answers beside the study.

    Their ids are ``judge:NAME`` and, of the other order, ``judge:NAME#2``. The same call goes on after a kill.

    Raises InputError: the model cannot be asked: a setting, a key, consent. StoppedError: the budget is spent; replies
    are kept, and the same call goes on.
    """
    questions = choice.questions()
    with choice.chosen.asker(choice.settings, choice.cache, choice.called, TOO_LONG) as asker:
        asker.check(looks_only=True)
        choice.out.parent.mkdir(mode=0o700, exist_ok=True)
        progress(0, len(questions), "")
        answered = ask_each(
            lambda one: one.ask(choice.settings, asker.complete),
            questions,
            choice.chosen.concurrency,
            lambda done, one: progress(done, len(questions), one.item.item),
        )
    rows = tuple(
        AnswerRow(_annotator(choice.name, question.order), question.item.item, *answer)
        for question, answer in zip(questions, answered, strict=True)
        if not isinstance(answer, UnitError)
    )
    write_atomically(choice.out, rows_text(rows))
    failed = tuple(str(answer) for answer in answered if isinstance(answer, UnitError))
    return JudgedStudy(rows, failed, _moved(choice.study, rows))


def _annotator(name: str, order: int) -> str:
    return check_annotator_id(f"{PREFIX}{name}" + (f"{AGAIN}{order}" if order > 1 else ""))


def _moved(study: StudyFolder, rows: Sequence[AnswerRow]) -> dict[str, float | None]:
    """By criterion the share of items that were answered otherwise in the other order."""
    by_item: dict[str, list[AnswerRow]] = {}
    for row in rows:
        by_item.setdefault(row.item, []).append(row)
    moved: dict[str, float | None] = {}
    for criterion in study.criteria.criteria:
        said = [
            [values_of(criterion, study.items[item], row.answers[criterion.name]) for row in pair]
            for item, pair in by_item.items()
            if len(pair) > 1
        ]
        moved[criterion.name] = sum(one != other for one, other in said) / len(said) if said else None
    return moved
