"""How often one policy's response is preferred to another's, as figures and as tables."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, estimate, ratio, resample
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import history_text, said_in_chat
from apportion.rlhf.compare.pairs import Pair
from apportion.rlhf.compare.responses import messages_of
from apportion.rlhf.policy.contexts import KNOWN, DialogueContext

if TYPE_CHECKING:
    from apportion.rlhf.training.reward import Reward


WIN, TIE, LOSS = 1.0, 0.5, 0.0


@dataclass(frozen=True)
class Verdict:
    """What one judge made of one pair: WIN where ``left`` is better, TIE or LOSS.

    ``answers`` is what it said in the two orders (which place was better), ``reasons`` why; a reward model says
    neither.
    """

    pair: Pair
    outcome: float
    answers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class WinRate:
    """``left`` against ``right``: counts over contexts, and the share of wins with ties counted as half a win."""

    judge: str
    left: str
    right: str
    wins: int
    ties: int
    losses: int
    rate: Estimate

    @property
    def contexts(self) -> int:
        """How many contexts were judged."""
        return self.wins + self.ties + self.losses

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "contexts": self.contexts}


@dataclass(frozen=True)
class PolicyReward:
    """Mean and standard deviation (ddof 1, over contexts) of the rewards of a policy's responses."""

    policy: str
    mean: float
    sd: float
    responses: int


def win_rates(judge: str, verdicts: Sequence[Verdict], settings: EvaluationSettings) -> list[WinRate]:
    """One win rate for every two policies, with bootstrap intervals.

    Whole sessions are drawn, with all their contexts: contexts of one session are alike.
    """
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.pair.left, verdict.pair.right].append(verdict)
    rates = []
    for (left, right), group in groups.items():
        counts = Counter(verdict.outcome for verdict in group)
        rate = _mean_by_session([(verdict.pair.session_id, verdict.outcome) for verdict in group], settings)
        rates.append(WinRate(judge, left, right, counts[WIN], counts[TIE], counts[LOSS], rate))
    return rates


def by_reward(pairs: Sequence[Pair], reward: Reward) -> tuple[list[Verdict], list[PolicyReward]]:
    """The response for which a policy would be paid more wins; equal ones, and equal pay, are ties."""
    answers: dict[tuple[str, str, int, int, str], tuple[DialogueContext, str]] = {}
    for pair in pairs:
        context = scored_context(pair.session_id, pair.turn, pair.context)
        answers[pair.left, *_place(pair)] = (context, pair.left_text)
        answers[pair.right, *_place(pair)] = (context, pair.right_text)
    contexts = [context for context, _ in answers.values()]
    given = reward(contexts, [context.history for context in contexts], [text for _, text in answers.values()])
    scores = dict(zip(answers, given, strict=True))
    for (policy, session_id, turn, *_), score in scores.items():
        if not math.isfinite(score):
            raise UnitError(
                f"session {session_id!r}, turn {turn}: the reward model gave {score} for the response of {policy!r}; "
                "it must be a finite number. Train the reward model again, with a lower learning rate."
            )
    verdicts = [
        Verdict(pair, _outcome(scores[pair.left, *_place(pair)], scores[pair.right, *_place(pair)], pair.same))
        for pair in pairs
    ]
    return verdicts, _policy_rewards(scores)


def scored_context(session_id: str, turn: int, context: str) -> DialogueContext:
    """A context of a table of responses, as what scores them reads it; it has no prompt."""
    return DialogueContext(session_id, turn, messages_of(context), (), history_of(context))


def history_of(context: str) -> str:
    """A context as the reward model reads histories: lines ``A: …`` of the user and ``B: …`` of the assistant.

    Of several users each has a letter, in the order in which they speak in the context.
    """
    messages = messages_of(context)
    known = [(m.speaker, m.text) for m in messages if m.role == KNOWN]
    said = [m for m in messages if m.role != KNOWN]
    turns = said_in_chat((None if m.role == "assistant" else m.speaker, m.text) for m in said)
    return history_text([*known, *turns])


def _place(pair: Pair) -> tuple[str, int, int, str]:
    return (pair.session_id, pair.turn, pair.seed, pair.context)


def _outcome(left: float, right: float, same: bool) -> float:
    if same or left == right:
        return TIE
    return WIN if left > right else LOSS


def _policy_rewards(scores: Mapping[tuple[str, str, int, int, str], float]) -> list[PolicyReward]:
    of: dict[str, list[float]] = defaultdict(list)
    for (policy, *_), score in scores.items():
        of[policy].append(score)
    return [
        PolicyReward(name, float(np.mean(given)), float(np.std(given, ddof=1)) if len(given) > 1 else 0.0, len(given))
        for name, given in of.items()
    ]


def _mean_by_session(values: Sequence[tuple[str, float]], settings: EvaluationSettings) -> Estimate:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for session_id, value in values:
        sums[session_id][0] += value
        sums[session_id][1] += 1.0
    return estimate(resample(np.array([list(sums.values())]), ratio, settings), settings.confidence)


HEADER = ("Judge", "Policy", "against", "Contexts", "Wins", "Ties", "Losses", "Win rate")
REWARD_HEADER = ("Policy", "Responses", "Mean reward", "SD")


@dataclass(frozen=True)
class WinRates:
    """Win rates by one judge or several, rewards where a reward model judged, and what has to be said of them."""

    rates: tuple[WinRate, ...]
    rewards: tuple[PolicyReward, ...]
    notes: tuple[str, ...]
    settings: EvaluationSettings

    def markdown(self) -> str:
        """Tables and notes."""
        lines = ["# Win rates", "", *_table(HEADER, [_row(rate) for rate in self.rates])]
        if self.rewards:
            rows = [(r.policy, f"{r.responses:,}", f"{r.mean:.4g}", f"{r.sd:.4g}") for r in self.rewards]
            lines += ["", "# Rewards", "", *_table(REWARD_HEADER, rows)]
        notes = (
            f"Win rate: the share of wins, a tie as half a win. [low, high]: {self.settings.confidence:.0%} bootstrap "
            f"over sessions, each with all its contexts, {self.settings.bootstrap:,} resamples.",
            *self.notes,
        )
        return "\n".join([*lines, "", *(f"- {_cell(note)}" for note in notes)])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "win_rates": [rate.to_json() for rate in self.rates],
            "rewards": [asdict(reward) for reward in self.rewards],
            "notes": list(self.notes),
        }


def _row(rate: WinRate) -> tuple[str, ...]:
    counts = (rate.contexts, rate.wins, rate.ties, rate.losses)
    return (rate.judge, rate.left, rate.right, *(f"{count:,}" for count in counts), _figure(rate.rate))


def _figure(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f} (no interval: too few sessions)"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines]


def _cell(text: str) -> str:
    # A policy's name is a path or what somebody typed; it must stay one cell.
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
