"""The blend of reactions and a language model's judgements."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.schema import HISTORY, REWARDS, SPLITS
from corpus.splitting.episodes import SplitEpisodes
from decompose.learning.fit import fit_decomposer
from decompose.learning.lessons import HowToLearn, Lessons
from decompose.reactions.blend import Agreement, blend, standardised
from decompose.reactions.model import Fitted
from decompose.settings import BlendSettings, DecomposeSettings
from foundation.errors import UnitError
from reward_model.settings import RewardModelSettings
from tests.evaluation.made_up import episode

RNG = np.random.default_rng(3)
EPISODES = [episode(f"s{i:02d}", 4, float(score)) for i, score in enumerate(RNG.normal(50, 10, 12))]
NAMES = [e.session_id for e in EPISODES]
SPLITS_TABLE = pa.Table.from_pylist(
    [{"session_id": s, "split": "train" if i < 10 else "test"} for i, s in enumerate(NAMES)], schema=SPLITS.arrow
)
HALF = BlendSettings(weight=0.5)


def judgements(values: dict[str, list[float | None]], method: str) -> pa.Table:
    rows = [
        {
            **dict(zip(("session_id", "rater", "target", "name"), e.key, strict=True)),
            "turn": turn,
            "method": method,
            "seed": 0,
            "raw_reward": value,
        }
        for e in EPISODES
        if e.session_id in values
        for turn, value in zip(e.target_turns, values[e.session_id], strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def history(loss: float) -> pa.Table:
    rows = [{"step": i, "metric": "leave-one-out loss", "value": value} for i, value in enumerate((loss * 2, loss), 1)]
    return pa.Table.from_pylist(rows, schema=HISTORY.arrow)


def every(values: list[float | None]) -> dict[str, list[float | None]]:
    return dict.fromkeys(NAMES, values)


def blended(
    ours: dict[str, list[float | None]],
    theirs: dict[str, list[float | None]],
    settings: BlendSettings,
    loss: float = 1.0,
    null: Literal["mean", "zero"] = "mean",
) -> tuple[dict[str, list[float]], dict[str, float]]:
    table, steps = blend(
        "reaction-llm", SplitEpisodes(EPISODES, SPLITS_TABLE), Fitted(judgements(ours, "reaction"), history(loss)),
        judgements(theirs, "llm"), settings, 7, null,
    )  # fmt: skip
    assert table.schema == REWARDS.arrow and set(table.column("seed").to_pylist()) <= {7}
    assert set(table.column("method").to_pylist()) <= {"reaction-llm"}
    found: dict[str, list[float]] = {}
    for row in table.to_pylist():
        found.setdefault(row["session_id"], []).append(row["raw_reward"])
    return found, {row["metric"]: row["value"] for row in steps.to_pylist()}


def test_hand_computed_case() -> None:
    found, _ = blended(every([1.0, 1.0, 3.0, 3.0]), every([-2.0, 2.0, -2.0, 2.0]), BlendSettings(weight=0.25))
    assert found["s00"] == pytest.approx([-1.0, -0.5, 0.5, 1.0])


@pytest.mark.parametrize(("null", "counts_as"), [("mean", 3.0), ("zero", 0.0)])
def test_a_null_of_the_judge_counts_as_it_does_in_rewards(null: Literal["mean", "zero"], counts_as: float) -> None:
    ours = every([1.0, 2.0, 3.0, 4.0])
    assert (
        blended(ours, every([2.0, 4.0, 3.0, None]), HALF, null=null)[0]
        == blended(ours, every([2.0, 4.0, 3.0, counts_as]), HALF)[0]
    )


def test_what_is_not_known_counts_as_the_mean() -> None:
    found, _ = blended(every([None, -1.0, 1.0, None]), every([None, 2.0, None, -2.0]), HALF)
    root = math.sqrt(2)
    assert found["s00"] == pytest.approx([0.0, (-1 + root) / 2, 0.5, -root / 2])
    alike, _ = blended(every([None] * 4), every([4.0] * 4), HALF)
    assert alike["s00"] == [0.0] * 4


def test_the_ends_of_the_weight_are_one_source_each() -> None:
    ours, theirs = every([1.0, 2.0, 3.0, 4.0]), every([4.0, 3.0, 2.0, 1.0])
    assert np.argsort(blended(ours, theirs, BlendSettings(weight=0.0))[0]["s00"]).tolist() == [0, 1, 2, 3]
    assert np.argsort(blended(ours, theirs, BlendSettings(weight=1.0))[0]["s00"]).tolist() == [3, 2, 1, 0]


def test_the_weight_follows_the_training_scores_alone() -> None:
    knowing = {e.session_id: [e.score / 10 + d for d in (-1.0, 0.0, 0.5, 0.5)] for e in EPISODES}
    variance = float(np.var([e.score for e in EPISODES[:10]])) * (10 / 9) ** 2
    _, steps = blended(every([1.0, 2.0, 3.0, 4.0]), knowing, BlendSettings(), loss=0.75 * variance)
    assert steps["R^2 of the reactions"] == pytest.approx(0.25)
    theirs = math.sqrt(steps["R^2 of the judgements"])
    assert steps["R^2 of the judgements"] > 0.9
    assert steps["weight of the judgements"] == pytest.approx(theirs / (theirs + 0.5))
    # What the judge says of sessions that are not trained on moves nothing.
    knowing |= {name: [9.0, -9.0, 0.0, 0.0] for name in NAMES[10:]}
    _, again = blended(every([1.0, 2.0, 3.0, 4.0]), knowing, BlendSettings(), loss=0.75 * variance)
    assert again == steps


@pytest.mark.parametrize(
    ("ours", "theirs", "weight"), [(0.0, 0.0, 0.5), (-1.0, 0.3, 1.0), (0.4, -2.0, 0.0), (0.2, 0.2, 0.5)]
)
def test_a_source_that_predicts_no_score_weighs_nothing(ours: float, theirs: float, weight: float) -> None:
    assert Agreement(ours, theirs).weight == pytest.approx(weight)


def test_scores_that_are_all_alike_give_a_half() -> None:
    flat = [episode(e.session_id, 4, 50.0) for e in EPISODES]
    values = every([1.0, 2.0, 3.0, 4.0])
    _, steps = blend(
        "b", SplitEpisodes(flat, SPLITS_TABLE), Fitted(judgements(values, "reaction"), history(0.0)),
        judgements(values, "llm"), BlendSettings(), 0,
    )  # fmt: skip
    found = {row["metric"]: row["value"] for row in steps.to_pylist()}
    assert found["weight of the judgements"] == 0.5


def test_episodes_that_one_source_lacks_are_left_out() -> None:
    ours, theirs = every([1.0, 2.0, 3.0, 4.0]), every([1.0, 2.0, 3.0, 4.0])
    found, _ = blended(
        {s: v for s, v in ours.items() if s != "s01"}, {s: v for s, v in theirs.items() if s != "s02"}, HALF
    )
    assert set(found) == set(NAMES) - {"s01", "s02"}


def test_without_a_training_session_that_has_both() -> None:
    with pytest.raises(UnitError, match="no training session has both a reaction and a language model's judgement"):
        blended(every([1.0] * 4), {NAMES[11]: [1.0] * 4}, HALF)


def test_without_any_judgement_the_cause_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reactions = Fitted(judgements(every([1.0] * 4), "reaction"), history(1.0))
    episodes = SplitEpisodes(EPISODES, SPLITS_TABLE)
    how = HowToLearn(DecomposeSettings(), RewardModelSettings(), 0)
    monkeypatch.setattr("decompose.learning.fit._from_reactions", lambda *arguments: reactions)
    with pytest.raises(UnitError, match="'reaction-llm': llm has judged no session"):
        fit_decomposer("reaction-llm", Lessons(episodes), how, ignore)
    lessons = Lessons(episodes, judgements=judgements(every([1.0, 2.0, 3.0, 4.0]), "llm"))
    found, _ = fit_decomposer("reaction-llm", lessons, how, ignore)
    assert found.num_rows == 48


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(math.nan)), max_size=30))
def test_standardised_values_have_mean_zero_and_spread_one_or_are_zero(values: list[float]) -> None:
    found = standardised(np.array(values, dtype=np.float64))
    known = found[np.isfinite(values)] if values else found
    assert np.isfinite(found).all()
    assert (found == 0).all() or (abs(known.mean()) < 1e-6 and known.std() == pytest.approx(1.0))


def ignore(done: int, total: int, text: str) -> None:
    pass
