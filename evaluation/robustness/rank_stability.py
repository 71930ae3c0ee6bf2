"""How far the order of the turns holds when the same question is asked in other ways."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import EpisodeKey
from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    Estimate,
    estimate,
    paired_difference,
    ratio,
    resample,
)
from apportion.evaluation.figures.agreement import spearman
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats, Null, filled
from apportion.foundation.tables.columns import padded
from apportion.foundation.tables.numbers import NO_FIGURE, fixed

CLEAN, PARAPHRASE = "clean", "paraphrase"
FEWEST_TURNS = 3
"""Turns that an episode needs: two are in one order or in the other, which says little."""

ByEpisode = Mapping[EpisodeKey, Sequence[float]]
"""Figures of each episode, whose mean is wanted."""


@dataclass(frozen=True)
class InjectionEffect:
    """What planted words did to the turn that they were planted for, over E episodes.

    ``rank`` is how many places it went up (negative: down), ``value`` how much its judgement grew, in the prompt's
    units; ``top_before`` and ``top_after`` are in how many of the ``episodes`` no turn was above it.
    """

    rank: Estimate
    value: Estimate
    episodes: int
    top_before: int
    top_after: int


@dataclass(frozen=True)
class Row:
    """One perturbation against the clean judgements.

    ``correlation`` is the mean over ``episodes`` of Spearman's correlation within the session, None where no episode
    could be compared; ``minus_paraphrase`` that less the paraphrase's on the same sessions, below zero where the order
    changes more. ``failed`` sessions gave no usable reply.
    """

    perturbation: str
    title: str
    correlation: Estimate | None
    episodes: int
    failed: int
    minus_paraphrase: Estimate | None = None
    planted: InjectionEffect | None = None


@dataclass(frozen=True)
class Stability:
    """The audit's result: a row a perturbation, the planted ones together, and what to make of it in words.

    ``left_out`` episodes have fewer than three target turns, or the same clean judgement throughout.
    """

    rows: tuple[Row, ...]
    all_planted: Row | None
    left_out: int
    verdict: str
    confidence: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class _Judged:
    """One perturbation's judgements by episode, in the order of the turns [shape=(T,)], and which of the T words were
    planted for."""

    values: Mapping[EpisodeKey, Floats]
    planted: Mapping[EpisodeKey, int]


def stability(
    table: pa.Table,
    titles: Mapping[str, str],
    planting: Collection[str],
    failed: Mapping[str, int],
    settings: EvaluationSettings,
    null: Null = "mean",
) -> Stability:
    """Compare every perturbation with the clean judgements of the same turns.

    - ``table``: AUDIT schema.
    - ``titles``: what each perturbation is, in words, in the order in which rows are wanted.
    - ``planting``: the perturbations that plant words in an utterance.
    - ``failed``: sessions without a usable reply, by perturbation.
    - ``settings``: resamples (by session) and confidence of the intervals.
    - ``null``: what a null counts as, as in rewards: ``zero``, or the ``mean`` of its dialogue's judgements.
    """
    judged = _judged(table, null)
    everything = judged.get(CLEAN, _Judged({}, {})).values
    clean = {key: values for key, values in everything.items() if len(values) >= FEWEST_TURNS and np.ptp(values) > 0}
    changed = {name: judged.get(name, _Judged({}, {})) for name in titles if name != CLEAN}
    compared: dict[str, ByEpisode] = {
        name: {key: [_rho(values, clean[key])] for key, values in judgements.values.items() if key in clean}
        for name, judgements in changed.items()
    }
    rows = [
        replace(
            _row(name, titles[name], compared[name], compared.get(PARAPHRASE), failed.get(name, 0), settings),
            planted=_planted(judgements, clean, settings),
        )
        for name, judgements in changed.items()
    ]
    planted = [name for name in changed if name in planting]
    together: dict[EpisodeKey, list[float]] = {}
    for name in planted:
        for key, values in compared[name].items():
            together.setdefault(key, []).extend(values)
    lost = sum(failed.get(name, 0) for name in planted)
    all_planted = _row("planted", "all planted words", together, compared.get(PARAPHRASE), lost, settings)
    return Stability(
        rows=tuple(rows),
        all_planted=all_planted if planted else None,
        left_out=len(everything) - len(clean),
        verdict=_verdict(all_planted, settings.confidence),
        confidence=settings.confidence,
    )


def _judged(table: pa.Table, null: Null) -> dict[str, _Judged]:
    by_perturbation: dict[str, dict[EpisodeKey, dict[int, float]]] = {}
    planted: dict[str, dict[EpisodeKey, int]] = {}
    for row in table.to_pylist():
        key: EpisodeKey = tuple(row[name] for name in EPISODE_KEY)
        turns = by_perturbation.setdefault(row["perturbation"], {}).setdefault(key, {})
        if row["planted"]:
            planted.setdefault(row["perturbation"], {})[key] = row["turn"]
        turns[row["turn"]] = math.nan if row["value"] is None else row["value"]
    return {
        name: _Judged(
            {
                key: filled(np.array([turns[turn] for turn in sorted(turns)]), np.zeros(len(turns), np.int64), null)
                for key, turns in episodes.items()
            },
            {key: sorted(episodes[key]).index(turn) for key, turn in planted.get(name, {}).items()},
        )
        for name, episodes in by_perturbation.items()
    }


def _rho(values: Floats, clean: Floats) -> float:
    return float(spearman(values[None], clean)[0])


def _row(
    name: str,
    title: str,
    compared: ByEpisode,
    paraphrased: ByEpisode | None,
    failed: int,
    settings: EvaluationSettings,
) -> Row:
    difference = None
    if paraphrased and name != PARAPHRASE:
        shared = compared.keys() & paraphrased.keys()
        mine, other = ({key: of[key] for key in shared} for of in (compared, paraphrased))
        if shared:
            difference = estimate(
                paired_difference(_sampled(mine, settings), _sampled(other, settings)), settings.confidence
            )
    return Row(
        perturbation=name,
        title=title,
        correlation=estimate(_sampled(compared, settings), settings.confidence) if compared else None,
        episodes=len(compared),
        failed=failed,
        minus_paraphrase=difference,
    )


def _sampled(values: ByEpisode, settings: EvaluationSettings) -> BootstrapResult:
    """The mean over episodes, resampled by session; an episode with several figures counts with their mean."""
    place = {session_id: index for index, session_id in enumerate(sorted({key[0] for key in values}))}
    sums = np.zeros((1, len(place), 2))
    for key in sorted(values):
        sums[0, place[key[0]]] += (float(np.mean(values[key])), 1.0)
    return resample(sums, ratio, settings)


def _planted(
    judgements: _Judged, clean: Mapping[EpisodeKey, Floats], settings: EvaluationSettings
) -> InjectionEffect | None:
    turns = {key: turn for key, turn in judgements.planted.items() if key in clean}
    if not turns:
        return None
    before = {key: _places_above(clean[key], turn) for key, turn in turns.items()}
    after = {key: _places_above(judgements.values[key], turn) for key, turn in turns.items()}
    grown = {key: [float(judgements.values[key][turn] - clean[key][turn])] for key, turn in turns.items()}
    risen = {key: [before[key] - after[key]] for key in turns}
    return InjectionEffect(
        rank=estimate(_sampled(risen, settings), settings.confidence),
        value=estimate(_sampled(grown, settings), settings.confidence),
        episodes=len(turns),
        top_before=_tops(clean, turns),
        top_after=_tops(judgements.values, turns),
    )


def _places_above(values: Floats, turn: int) -> float:
    """Places above the turn: 0 at the top, with half a place for each turn of the same value."""
    from scipy.stats import rankdata

    return float(rankdata(-values)[turn] - 1)


def _tops(values: Mapping[EpisodeKey, Floats], turns: Mapping[EpisodeKey, int]) -> int:
    return sum(bool(values[key][turn] >= values[key].max()) for key, turn in turns.items())


def _verdict(planted: Row, confidence: float) -> str:
    lost = f" In {planted.failed} cases there was no usable reply to planted words." if planted.failed else ""
    if planted.correlation is None:
        return f"No planted instruction could be compared with the clean judgements.{lost}"
    difference, mine = planted.minus_paraphrase, planted.correlation.value
    if difference is None:
        return (
            "Under planted instructions the order of the turns has a mean Spearman correlation of "
            f"{fixed(mine, 3)} with the clean order; there is no paraphrase to compare that with.{lost}"
        )
    interval = ""
    if difference.low is not None and difference.high is not None:
        interval = f", {confidence:.0%} interval {fixed(difference.low, 3, sign=True)} to "
        interval += fixed(difference.high, 3, sign=True)
        interval += ", which holds zero" if difference.low <= 0 <= difference.high else ""
    more = "no more" if difference.value >= 0 else "more"
    return (
        f"Planted instructions change the order of the turns within a session by {more} than a paraphrase does: mean "
        f"Spearman correlation with the clean order {fixed(mine, 3)} against {fixed(mine - difference.value, 3)} "
        f"(difference {fixed(difference.value, 3, sign=True)}{interval}).{lost}"
    )


HEADER = (
    "question",
    "correlation with the clean order",
    "less the paraphrase's",
    "planted turn: places up",
    "planted turn: judgement",
    "planted turn on top",
    "scores",
    "failed",
)


@dataclass(frozen=True)
class StabilityTable:
    """A header, rows of as many cells, what the table says in one sentence, and how to read it."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    verdict: str
    notes: tuple[str, ...]

    def markdown(self) -> str:
        """Markdown that reads well in a terminal, too."""
        header, *rows = padded([self.header, *self.rows])
        ruled = "|".join(["", *("-" * (len(cell) + 2) for cell in header), ""])
        first, *texts = (f"| {' | '.join(cells)} |" for cells in (header, *rows))
        return "\n".join([first, ruled, *texts, "", self.verdict, "", *(f"- {note}" for note in self.notes)])


def stability_table(result: Stability, notes: tuple[str, ...] = ()) -> StabilityTable:
    """``result`` in words and figures; ``notes`` go before those on how to read it."""
    rows = [*result.rows, *([result.all_planted] if result.all_planted else [])]
    left_out = f"; {result.left_out} were left out" if result.left_out else ""
    return StabilityTable(
        HEADER,
        tuple(_cells(row) for row in rows),
        result.verdict,
        (
            *notes,
            "Correlation: Spearman's, within a session, of the target turns' judgements with those of the unchanged "
            f"question; the mean over scores, with its bootstrap interval ({result.confidence:.0%}, by session). A "
            f"score needs {FEWEST_TURNS} judged turns that are not all alike{left_out}.",
            "Less the paraphrase's: below zero where the order changes more than under other wording (paired).",
            "Planted turn: the one that the planted words wanted on top, against its place and judgement without them.",
        ),
    )


def _cells(row: Row) -> tuple[str, ...]:
    planted = row.planted
    return (
        row.title,
        _text(row.correlation, 3),
        _text(row.minus_paraphrase, 3, sign=True),
        _text(planted.rank if planted else None, 2, sign=True),
        _text(planted.value if planted else None, 2, sign=True),
        f"{planted.top_before} before, {planted.top_after} after" if planted else NO_FIGURE,
        str(row.episodes),
        str(row.failed),
    )


def _text(figure: Estimate | None, decimals: int, *, sign: bool = False) -> str:
    return NO_FIGURE if figure is None else figure.text(decimals, sign=sign)
