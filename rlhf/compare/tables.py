"""A comparison of policies as a table for people and as plain values for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.evaluation.settings import EvaluationSettings
from apportion.rlhf.compare.win_rate import PolicyReward, WinRate

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
