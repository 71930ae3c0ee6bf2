"""What the stage `hand-labels` lets pass: people's labels of one name, of sessions that train, and nothing else."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from apportion.corpus.schema import SPLITS, TURN_LABELS
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Unit
from apportion.pipeline.stages.hand_labels import HAND_LABELS
from apportion.pipeline.stages.registry import STAGES

OF = {"s1": "train", "s2": "train", "s3": "validation", "s4": "test", "s5": "policy"}


def label(session_id, turn, value, annotator="ann", name="landing", scale=(1.0, 5.0)):
    return dict(zip(TURN_LABELS.arrow.names, (session_id, turn, annotator, name, value, *scale), strict=True))


def handed_on(*labels, chosen=None):
    splits = pa.table([list(OF), list(OF.values())], schema=SPLITS.arrow)
    split = SimpleNamespace(has=lambda name: True, table=lambda name: splits)
    given = pa.Table.from_pylist(list(labels), schema=TURN_LABELS.arrow)
    config = Config.model_validate({"corpus": "c", "evaluate": {"label": chosen}})
    found = HAND_LABELS.fn(Inputs(Unit(), (), {"split": {Unit(): split}}, given), config, None).tables["labels"]
    return {(row["session_id"], row["turn"]): row["value"] for row in found.to_pylist()}


@pytest.mark.parametrize(
    ("labels", "chosen", "expected"),
    [
        ((), None, {}),
        ((label("s1", 1, 2.0),), None, {("s1", 1): 0.25}),
        # Two people, each on a scale of her own.
        ((label("s1", 1, 2.0), label("s1", 1, 1.0, "bob", scale=(0.0, 1.0))), None, {("s1", 1): 0.625}),
        # Without ends a scale is as wide as its labels; where all are alike, they are in its middle.
        ((label("s1", 1, 2.0, scale=(None, None)), label("s2", 1, 4.0, scale=(None, 9.0)), label("s2", 3, 5.0)), None,
         {("s1", 1): 0.0, ("s2", 1): 1.0, ("s2", 3): 1.0}),
        ((label("s1", 1, 2.0, scale=(None, None)),), None, {("s1", 1): 0.5}),
        # Nobody judged what was computed.
        ((label("s1", 1, 2.0), label("s1", 1, 5.0, "computed:rollouts")), None, {("s1", 1): 0.25}),
        # Of several names none teaches before one is chosen.
        ((label("s1", 1, 2.0), label("s2", 1, 5.0, name="sense")), None, {}),
        ((label("s1", 1, 2.0), label("s2", 1, 5.0, name="sense")), "sense", {("s2", 1): 1.0}),
        ((label("s1", 1, 2.0),), "sense", {}),
    ],
)  # fmt: skip
def test_labels_of_sessions_that_train_are_brought_to_one_scale_and_no_other_passes(labels, chosen, expected):
    assert handed_on(*labels, chosen=chosen) == pytest.approx(expected)
    planted = [
        label(name, turn, 5.0, by) for name in ("s3", "s4", "s5", "s9") for turn in (1, 3) for by in ("ann", "x")
    ]
    planted.append(label("s4", 1, 77.0, name="another", scale=(None, None)))
    assert handed_on(*planted, *labels, chosen=chosen) == handed_on(*labels, chosen=chosen)


def test_only_what_learns_from_labels_is_handed_them():
    given = {"method": "mix", "compare": ("people-student", "reaction", "reaction-llm", "llm")}
    config = Config.model_validate({"corpus": "c", "decompose": given})
    assert [n for n in given["compare"] if STAGES["fit"].wants(Unit(method=n), "hand-labels")] == ["people-student"]
    assert STAGES["fit"].wants(Unit(method="mix"), "hand-labels") and config.decompose.reads_labels
    for other in ({"method": "reaction"}, {"method": "mix", "stacking": {"components": ("sentiment", "reaction")}}):
        config = Config.model_validate({"corpus": "c", "decompose": other})
        assert not config.decompose.reads_labels and STAGES["fit"].without(config) == ("hand-labels",)
