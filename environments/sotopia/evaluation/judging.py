"""From a choice of judges to a corpus with their ratings: every episode, gone on with after a kill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from apportion.corpus.builder import SkippedSession
from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import ImportReport, check_free, claim
from apportion.environments.sotopia.evaluation.episodes import Episodes, read_episodes
from apportion.environments.sotopia.evaluation.human_ratings.log import KEPT
from apportion.environments.sotopia.evaluation.language_model import (
    PROMPTS,
    TOKENS_A_PERSON,
    Calls,
    ModelJudge,
    Question,
)
from apportion.environments.sotopia.evaluation.rated_corpus import (
    KIND,
    Changes,
    check_judges,
    check_out,
    corpus_digests,
    made_before,
    place_rated,
)
from apportion.environments.sotopia.evaluation.scores import CharacterScores
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import digest, file_digest
from apportion.foundation.progress import Progress, silent
from apportion.foundation.truncate import some
from apportion.llm_client.many_requests import PlannedRequests, ask_each
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.session import LLMSession

TOO_LONG = "Use a model with a longer context."
NOTE = "simulated, not recorded; a model's score of it is no person's"


@dataclass(frozen=True)
class JudgingChoice:
    """What is judged, and by whom.

    ``corpus``: Simulated episodes. ``judges``: Names of judges: a prompt (``paper``, ``fine-grained``, a path), each
    also as ``NAME@MODEL``. ``calls``: ``episode`` asks about everybody at once, ``agent`` about each person alone.
    ``chosen``: The model, its server and limits. ``without``: Whose ratings the new corpus leaves out. ``called``: What
    a caller calls the parameters, for errors.
    """

    corpus: Corpus
    judges: tuple[str, ...] = ("paper",)
    calls: Calls = "episode"
    chosen: ModelSpec = field(default_factory=ModelSpec)
    without: tuple[str, ...] = ()
    called: Called = str

    @cached_property
    def models(self) -> tuple[ModelJudge, ...]:
        """The judges. Raises InputError: none is named, one twice, or one that there is not."""
        models = tuple(ModelJudge.of(name, self.chosen, self.calls, self.called) for name in self.judges)
        names = [model.called for model in models]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two judges are called {name!r}; name each once, and files of prompts differently")
        if not models:
            raise InputError(
                f"nobody judges: give {self.called('judges')} at least one of {', '.join(PROMPTS.names())}"
            )
        return models

    @cached_property
    def episodes(self) -> Episodes:
        """What judges read of the corpus; raises as `read_episodes`."""
        return read_episodes(self.corpus)

    def questions(self) -> list[Question]:
        """Everything that is asked, by session and judge."""
        return [
            question for episode in self.episodes.read for model in self.models for question in model.questions(episode)
        ]

    def record(self) -> dict[str, Any]:
        """What decides the new corpus, as JSON: the corpus, how it was made, and judges by name with their prompts."""
        asked = {"reasoning_effort": self.chosen.reasoning_effort, "extra_body": self.chosen.extra_body}
        given = {name: value for name, value in asked.items() if value is not None}
        return {
            "kind": KIND,
            **made_before(self.corpus),
            "corpus": corpus_digests(self.corpus),
            "judges": {model.called: file_digest(PROMPTS.find(model.style)) for model in self.models},
            "without": list(self.without),
            # What else a server is sent may be private.
            "asked": digest(given) if given else None,
        }


@dataclass(frozen=True)
class EvaluationResult:
    """What came of it: the new corpus, and for each session and judge with a missing score why."""

    report: ImportReport
    failed: tuple[SkippedSession, ...]

    def text(self, where: str = "") -> str:
        """The same for a person; ``where`` says where all failures are told."""
        return "\n".join([str(self.report), *some("not judged", [str(one) for one in self.failed], where=where)])

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        failed = [{"session_id": one.session_id, "message": one.message} for one in self.failed]
        return {**self.report.to_json(), "not_judged": failed}


def judge_corpus(
    choice: JudgingChoice, out: Path, *, overwrite: bool = False, progress: Progress = silent
) -> EvaluationResult:
    """Ask every judge about every episode, and write the corpus with their ratings.

    ``choice``: What is judged, and by whom. ``out``: The new corpus; the same call goes on there after a kill, and pays
    for no reply twice. ``overwrite``: Whether another corpus there is replaced; its kept replies stay. ``progress``:
    Told the questions that are answered, of how many. Raises InputError: As `JudgingChoice.models` and `episodes`; the
    folder holds something else; a model that cannot be asked. Raises StoppedError: The budget is spent; replies are
    kept, and the same call goes on.
    """
    check_out(choice.corpus, out)
    names = [model.called for model in choice.models]
    check_judges(choice.corpus, names, choice.without)
    questions, record = choice.questions(), choice.record()
    if not overwrite:
        check_free(out, record)
    with _askers(choice, out) as askers:
        claim(out, record)
        verdicts = _ask(questions, askers, choice.chosen.concurrency, progress)
    changes = Changes(
        tuple(verdicts),
        named=tuple(names),
        without=choice.without,
        broken=choice.episodes.broken,
        along=(KEPT,),
        notes=(NOTE,),
    )
    report = place_rated(choice.corpus, changes, out, record)
    return EvaluationResult(report, (*choice.episodes.unread, *_unscored(verdicts)))


@contextmanager
def _askers(choice: JudgingChoice, out: Path) -> Iterator[Mapping[str, LLMSession]]:
    """By model who asks it; all are looked at before one is asked, and before anything is written."""
    with ExitStack() as stack:
        askers: dict[str, LLMSession] = {}
        for judge in choice.models:
            if judge.settings.model not in askers:
                asker = choice.chosen.asker(judge.settings, choice.chosen.cache_in(out), choice.called, TOO_LONG)
                askers[judge.settings.model] = stack.enter_context(asker)
                asker.check(looks_only=True)
        yield askers


def _ask(
    questions: Sequence[Question], askers: Mapping[str, LLMSession], concurrency: int, progress: Progress
) -> list[CharacterScores]:
    progress(0, len(questions), "")
    answered = ask_each(
        lambda one: one.ask(askers[one.judge.settings.model].complete),
        questions,
        concurrency,
        lambda done, one: progress(done, len(questions), one.episode.session_id),
    )
    # None has failed: what got no usable reply is scores that say why.
    return [scores for given in answered if not isinstance(given, UnitError) for scores in given]


def _unscored(verdicts: Sequence[CharacterScores]) -> list[SkippedSession]:
    unscored = []
    for verdict in verdicts:
        if verdict.missing:
            cause = verdict.given[verdict.missing[0]].cause
            what = f"{verdict.judge} gave {verdict.target!r} no score in {', '.join(verdict.missing)}: {cause}"
            unscored.append(SkippedSession(verdict.session_id, what))
    return unscored


def planned(choice: JudgingChoice, out: Path) -> list[PlannedRequests]:
    """What would be sent, by model; replies that are kept in ``out`` count as answered.

    Raises InputError as `JudgingChoice.models` and `episodes`.
    """
    by_model: dict[str, list[Question]] = {}
    for question in choice.questions():
        by_model.setdefault(question.judge.settings.model, []).append(question)
    return [
        PlannedRequests(
            questions[0].judge.settings,
            choice.chosen,
            choice.chosen.cache_in(out),
            [(question.request(), len(question.people) * TOKENS_A_PERSON) for question in questions],
            choice.called,
        )
        for questions in by_model.values()
    ]
