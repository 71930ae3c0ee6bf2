"""What judges no turn beside reward models: figures by hand, and the verdict that is made of them."""

import numpy as np
import pyarrow as pa
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.methods.controls import beats_controls
from apportion.evaluation.settings import EvaluationSettings
from apportion.evaluation.table import footnotes, grids
from tests.evaluation.made_up import episode, evaluated, labels, rewards, splits

NAMES = [f"s{i}" for i in range(12)]
EPISODES = [episode(name, 4, 40.0 + i) for i, name in enumerate(NAMES)]
TEST = NAMES[6:]
PLACES = [0.0, 1.0, 2.0, 3.0]
LABELS = labels((name, 2 * i, "x", 2.0 + i) for name in NAMES for i in range(4))
"""Better from turn to turn: their place agrees with them wholly, and their length (two words each) not at all."""
BACK = {e.key: PLACES[::-1] for e in EPISODES}


def found(paid=None, **changes):
    scores = rewards(EPISODES, dict.fromkeys(NAMES, (0.0, 1.0, 3.0, 2.0)), "m")
    if paid is not None:
        column = pa.array(np.tile(np.array(paid, float), len(EPISODES)), scores.schema.field("advantage").type)
        scores = scores.set_column(scores.schema.get_field_index("advantage"), "advantage", column)
    given = {
        "scores": scores, "rewards": scores[:0], "offsets": {"m": 0.0}, "episodes": EPISODES, "turn_labels": LABELS,
        "splits": splits(train=NAMES[:6], test=TEST), "settings": EvaluationSettings(bootstrap=100, random_draws=1),
        "sentiment": Missing("VADER reads English"), "state_only": {"m": BACK},
    }  # fmt: skip
    return evaluated(**{**given, **changes})


def test_controls_and_gains_are_those_of_a_hand_computed_case():
    (model,) = found().reward_models
    assert isinstance(model.spearman, Estimate) and model.spearman.value == pytest.approx(0.8)
    expected = {"place": (1.0, -0.2), "length": (0.0, 0.8), "state only": (-1.0, 1.8)}
    assert {name: (c.value, c.gain) for name, c in model.controls.items()} == {
        name: pytest.approx(both) for name, both in expected.items()
    }
    assert all(c.low == pytest.approx(c.gain) == c.high for c in model.controls.values())
    assert isinstance(model.controls["place"].auc_gain, Estimate) and model.controls["place"].auc_gain.value == 0.0
    assert {name: figure.value for name, figure in model.knows.items()} == pytest.approx(
        {"place": 0.8, "state only": -0.8}
    )
    assert model.advantage is None


def test_what_a_policy_is_paid_has_figures_of_its_own_and_the_verdict_is_on_it():
    evaluation = found(paid=[2.0, 1.0, 1.0, 0.0])
    paid = evaluation.reward_models[0].advantage
    assert paid is not None and paid.knows["place"].value == paid.spearman.value < -0.9
    verdict = beats_controls(evaluation.to_json(), "m")
    assert (verdict.paid, verdict.beats, verdict.against) == (True, False, "place")
    assert "train no policy" in verdict.text() and "what a policy is paid by m" in verdict.text()


@pytest.mark.parametrize(
    ("changes", "beats", "against"),
    [
        ({}, False, "place"),
        ({"paid": PLACES}, False, "place"),  # as good as its place, no better
        ({"turn_labels": labels((n, 2 * i, "x", v) for n in NAMES for i, v in enumerate((1, 3, 5, 4)))}, True, "place"),
        ({"splits": splits(train=NAMES[:6], test=TEST[:1])}, False, "place"),  # one session has no interval
        ({"turn_labels": None}, None, None),
    ],
)
def test_a_reward_model_beats_the_controls_where_every_gain_is_surely_above_zero(changes, beats, against):
    verdict = beats_controls(found(**changes), "m")
    assert (beats, against) == ((None, None) if verdict is None else (verdict.beats, verdict.against))
    assert beats_controls(found(**changes), "other") is None


def test_the_tables_show_controls_and_say_what_is_left_out():
    evaluation = found(paid=PLACES, state_only=Missing("no embedding"))
    models, gains, known = grids(evaluation)[:3]
    assert [row[0] for row in models.rows] == ["m", "Mean", "Mode", "Random", "place", "length"]
    assert gains.header == ("Method", "Place", "Length")
    assert [row[0] for row in gains.rows] == ["m", "m, paid"] and gains.rows[0][1] == "-0.20 [-0.20, -0.20]"
    assert known.header == ("Method", "Knows place") and known.rows[1][1] == "1.00 [1.00, 1.00]"
    notes = footnotes(evaluation)
    assert "Control turn sentiment: left out; VADER reads English." in notes
    assert "Control state only: left out; no embedding." in notes
    nothing = found(turn_labels=None)
    assert not nothing.controls and not any("ontrol" in note for note in footnotes(nothing))
    lacking = found(state_only={"m": {EPISODES[0].key: PLACES}}).controls[-1]
    assert (
        isinstance(lacking.spearman, Missing)
        and "6 held-out sessions have none, first 's10'" in lacking.spearman.reason
    )
