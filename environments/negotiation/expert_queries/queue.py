"""Questions and answers in a folder: two files of JSON lines, each line on the disk before it is used.

Who learns writes ``questions.jsonl``, whoever answers writes ``answers.jsonl``; the two need not run at the same time.
A question is known by what it asks, so that none is asked twice, whoever asks and however often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from apportion.environments.negotiation.expert_queries.question import Question
from apportion.foundation.errors import InputError, StoppedError, UnitError
from apportion.foundation.files import append_lines, canonical_json, locked, take_lines

QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
Read = TypeVar("Read")


class UnansweredError(StoppedError):
    """Somebody has to answer before it goes on; the questions are in the queue."""

    same_again: ClassVar[bool] = True


@dataclass(frozen=True)
class Answer:
    """What somebody has answered: an act's number, or that of the split that is taken."""

    question: Question
    number: int
    by: str


@dataclass(frozen=True)
class Queue:
    """A folder of questions and answers.

    How who learns uses it::

        queue = Queue(folder)
        acts = queue.answered([Question(counts, values, seat=1, starter=0, acts=(35, 126)), ...])

    The first time this raises `UnansweredError`, with the questions in the folder; after `apportion label expert
    negotiation FOLDER` the same call gives the answers, in the order of the questions.
    """

    folder: Path

    def ask(self, questions: Iterable[Question]) -> int:
        """Write down the questions that are not there yet; how many those are.

        Raises InputError: A damaged file, or another process writes questions.
        """
        message = f"another process asks in {self.folder}"
        with locked(self.folder / f".{QUESTIONS}.lock", message, InputError):
            known = self.questions(mend=True)
            new = {one.name: one for one in questions if one.name not in known}
            _append(self.folder / QUESTIONS, [{"question": name, **one.record()} for name, one in new.items()])
        return len(new)

    def answered(
        self,
        questions: Sequence[Question],
        wait_s: float = 0.0,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> list[int]:
        """The answers to questions, in their order; those that are not there are asked.

        ``questions``: What is to be known. ``wait_s``: Seconds for which it waits for answers that are missing.
        ``sleep``: How it waits. Raises UnansweredError: Some are not answered. Raises InputError: A damaged file.
        """
        self.ask(questions)
        waited = 0.0
        while True:
            given = self.answers()
            missing = {one.name for one in questions if one.name not in given}
            if not missing:
                return [given[one.name].number for one in questions]
            if waited >= wait_s:
                waiting = "question waits" if len(missing) == 1 else "questions wait"
                raise UnansweredError(
                    f"{len(missing):,} {waiting} for somebody to answer them: apportion label expert "
                    f"{self.folder}. The same command goes on then"
                )
            sleep(1.0)
            waited += 1.0

    def questions(self, *, mend: bool = False) -> dict[str, Question]:
        """The questions by name, in the order in which they were asked.

        Raises InputError: A line that is none, by number.
        """
        path = self.folder / QUESTIONS
        return {str(record["question"]): one for record, one in _lines(path, _question, mend)}

    def answers(self, *, mend: bool = False) -> dict[str, Answer]:
        """The answers by the name of their question; of two to one question the first, which may be used already.

        Raises InputError: A line that is none, by number.
        """
        questions = self.questions()

        def answer(record: Mapping[str, Any]) -> Answer:
            question = questions.get(str(record["question"]))
            if question is None:
                raise UnitError(f"nobody has asked {str(record['question'])[:40]!r}")
            number = record["answer"]
            if not isinstance(number, int) or (problem := question.problem(number)) is not None:
                raise UnitError(f"answer {number!r:.40}" + ("" if not isinstance(number, int) else f": {problem}"))
            return Answer(question, number, str(record["by"]))

        given: dict[str, Answer] = {}
        for record, one in _lines(self.folder / ANSWERS, answer, mend):
            given.setdefault(str(record["question"]), one)
        return given

    def answer(self, answer: Answer) -> None:
        """Write an answer down; it is on the disk when this returns.

        Raises UnitError: It is none to this question.
        """
        problem = answer.question.problem(answer.number)
        if problem is not None:
            raise UnitError(problem)
        record = {"question": answer.question.name, "answer": answer.number, "by": answer.by}
        _append(self.folder / ANSWERS, [record])

    def open_questions(self) -> list[Question]:
        """What nobody has answered, in the order in which it was asked."""
        given = self.answers(mend=True)
        return [one for name, one in self.questions().items() if name not in given]


def _question(record: Mapping[str, Any]) -> Question:
    question = Question.of(record)
    if record["question"] != question.name:
        raise UnitError(f"{str(record['question'])[:40]!r} is not the name of what it asks")
    return question


def _lines(path: Path, read: Callable[[Mapping[str, Any]], Read], mend: bool) -> list[tuple[Mapping[str, Any], Read]]:
    """What the lines of a file hold; a last one that a kill has cut off is taken off to ``mend``."""
    found: list[tuple[Mapping[str, Any], Read]] = []
    take_lines(path, lambda record: found.append((record, read(record))), mend=mend)
    return found


def _append(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    if records:
        append_lines(path, map(canonical_json, records))
