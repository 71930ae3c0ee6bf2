"""Who is preferred, by a reward model, by a language model or by both: from a file of responses to win rates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import KEY, RESPONSES
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.errors import InputError
from apportion.foundation.progress import Progress
from apportion.llm_client.cache.recorded import read_header
from apportion.llm_client.many_requests import PlannedRequests
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.compare.blind import unblinded
from apportion.rlhf.compare.judge import TOKENS_A_REPLY, JudgeResult, judge, requests_for, verdict_rows
from apportion.rlhf.compare.metadata import is_blind, key_path
from apportion.rlhf.compare.pairs import AnonymizedPair, Pair, anonymize_pair, pairs_of, speakers
from apportion.rlhf.compare.responses import read_rows
from apportion.rlhf.compare.win_rate import PolicyReward, Verdict, WinRates, by_reward, win_rates

TOO_LONG = "Generate with fewer turns of context."


@dataclass(frozen=True)
class JudgeSettings(ModelSpec):
    """Which language model judges, and how it is asked; replies are kept in ``NAME.judge.sqlite`` beside the responses.

    ``pseudonyms``: The corpus of the responses, whose speakers are shown under other names. ``names``: Further names to
    replace.
    """

    pseudonyms: Path | None = None
    names: Sequence[str] = ()


@dataclass(frozen=True)
class LanguageModelJudge:
    """A language model that is asked about ``pairs``, each with what it is shown in its place (None: as it is).

    ``cache`` is where its replies are kept, ``called`` how a caller calls the fields of `JudgeSettings`, for errors.
    """

    pairs: Mapping[Pair, AnonymizedPair | None]
    settings: JudgeSettings
    llm: LLMSettings
    cache: Path
    called: Called = str

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], responses: Path, settings: JudgeSettings, called: Called = str
    ) -> LanguageModelJudge:
        """The judge of the ``pairs`` in the file ``responses``.

        Raises InputError: Settings that cannot be used, or a corpus of speakers that lacks a session.
        """
        llm = settings.llm(called)
        cache = settings.cache or responses.with_name(f"{responses.stem}.judge.sqlite")
        return cls(_anonymize_all(pairs, settings), settings, llm, cache, called)

    @property
    def shown(self) -> list[Pair]:
        """The pairs as they are sent."""
        return [pair if other is None else other.pair for pair, other in self.pairs.items()]

    @property
    def recording(self) -> str | None:
        """Where recorded replies come from, None for those of a server."""
        if self.settings.recorded is None:
            return None
        header = read_header(self.settings.recorded)
        return f"{header.model}, {header.date}, {header.how}"

    def ask(self, progress: Progress) -> JudgeResult:
        """Verdicts on the pairs as they are, reasons with the real names.

        ``progress``: ``progress(done, total, place)`` before the first pair and after each. Raises InputError: No
        request can succeed until a person changes something. Raises StoppedError: The budget is used up; replies
        received so far are kept.
        """
        asker = self.settings.asker(self.llm, self.cache, self.called, TOO_LONG)
        with asker:
            asker.check()
            progress(0, len(self.pairs), "")
            return judge(self.shown, self.llm, asker.complete, progress).under_real_names(self.pairs)

    def planned(self) -> PlannedRequests:
        """What would be sent."""
        requests = [request for pair in self.shown for request in requests_for(pair, self.llm)]
        asked = [(request, TOKENS_A_REPLY) for request in requests]
        return PlannedRequests(self.llm, self.settings, self.cache, asked, self.called)


class Judging:
    """What judges say of ``pairs``, one judge after the other.

    ``bootstrap`` and ``seed`` are those of the intervals. ``verdicts`` are the judges', by their names; ``failed`` says
    why pairs could not be judged.
    """

    def __init__(self, pairs: Sequence[Pair], bootstrap: int = 2000, seed: int = 0) -> None:
        self.pairs = pairs
        self.settings = EvaluationSettings(bootstrap=bootstrap, seed=seed)
        self.verdicts: dict[str, Sequence[Verdict]] = {}
        self.failed: list[str] = []
        self._rewards: tuple[PolicyReward, ...] = ()
        self._notes: list[str] = []

    def by_reward(self, folder: Path, threads: int | None = None) -> None:
        """Let the reward model in ``folder`` judge: the higher reward wins.

        ``threads`` sets how many torch computes with in this process.

        Raises InputError: A folder that holds no reward model, or a context that cannot be read. Raises UnitError: A
        reward that is not a finite number.
        """
        import torch

        from apportion.rlhf.training.reward import ModelReward

        if threads is not None:
            torch.set_num_threads(threads)
        verdicts, rewards = by_reward(self.pairs, ModelReward(folder))
        self.verdicts[f"reward model {folder.resolve().name}"] = verdicts
        self._rewards = tuple(rewards)
        self._notes.append(
            "A reward model that a policy was trained against favours it: its win rate says that the training worked, "
            "not that people prefer the policy."
        )

    def by_language_model(self, asked: LanguageModelJudge, progress: Progress) -> None:
        """Let a language model judge, asked in both orders; errors as `LanguageModelJudge.ask`."""
        judged = asked.ask(progress)
        name = asked.llm.model
        if asked.recording is not None:
            self._notes.append(f"The judge's replies are recorded ({asked.recording}).")
        if judged.counted:
            self.verdicts[name] = judged.counted
        self._notes += judged.notes(name)
        self.failed = [cause for _, cause in judged.failed]

    def win_rates(self) -> WinRates:
        """The tables."""
        rates = [rate for name, given in self.verdicts.items() for rate in win_rates(name, given, self.settings)]
        return WinRates(tuple(rates), self._rewards, tuple(self._notes), self.settings)

    def verdict_rows(self) -> list[Mapping[str, Any]]:
        """Every verdict as a plain row."""
        return [row for name, given in self.verdicts.items() for row in verdict_rows(name, given)]


def read_pairs(responses: Path, key: Path | None = None, called: Called = str) -> list[Pair]:
    """Every two policies' responses to one context, of the file ``responses`` and, where it is blind, its key.

    Raises InputError: A file that cannot be read, blind responses without their key, or nothing to compare.
    """
    table = read_rows(responses, RESPONSES)
    if key is not None:
        return pairs_of(unblinded(table, read_rows(key, KEY)))
    if is_blind(responses):
        raise InputError(
            f"{responses}: blind responses, in which A is another policy in every context. Give their key with "
            f"{called('key')} {shlex.quote(str(key_path(responses)))}."
        )
    return pairs_of(table)


def _anonymize_all(pairs: Sequence[Pair], settings: JudgeSettings) -> dict[Pair, AnonymizedPair | None]:
    """Each pair as the judge is shown it: under other names where that was asked for."""
    if settings.pseudonyms is None and not settings.names:
        return dict.fromkeys(pairs)
    people = speakers(Corpus.open(settings.pseudonyms), pairs) if settings.pseudonyms is not None else {}
    return {pair: anonymize_pair(pair, people.get(pair.session_id, ()), settings.names) for pair in pairs}
