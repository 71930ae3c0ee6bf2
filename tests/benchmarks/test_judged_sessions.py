"""The curve over sessions asked: nobody is taught by the fold that is judged."""

from __future__ import annotations

import numpy as np

from apportion.decompose.reactions.extract import arrange
from benchmarks import judged_sessions as curve
from benchmarks.reaction import folds_of
from tests.decompose.ensembling.opinions import felt
from tests.decompose.reactions.test_model import table_of

EPISODES, FELT = felt(60)
REACTIONS = arrange(table_of(EPISODES, FELT), EPISODES)
ENDS = np.cumsum([len(e.target_turns) for e in EPISODES])
TRUTH = {e.key: of for e, of in zip(EPISODES, np.split(np.array(FELT), ENDS[:-1]), strict=True)}
IDS = [e.session_id for e in EPISODES]


def test_a_fold_is_judged_by_what_the_others_taught() -> None:
    recorded = IDS[:30]
    values = {key: of for key, of in TRUTH.items() if key[0] in recorded}
    one, taught = curve.students(REACTIONS, values, recorded, 10, 0)
    assert taught == 10 and one.shape == (len(FELT),)
    fold = folds_of(IDS)[IDS[0]]
    inside = {key: -of if folds_of(IDS)[key[0]] == fold else of for key, of in values.items()}
    two, _ = curve.students(REACTIONS, inside, recorded, 10, 0)
    of_fold = np.repeat([folds_of(IDS)[name] == fold for name in IDS], [len(e.target_turns) for e in EPISODES])
    assert np.array_equal(one[of_fold], two[of_fold]) and not np.array_equal(one[~of_fold], two[~of_fold])


def test_all_that_is_recorded_of_the_other_folds_can_teach() -> None:
    _, taught = curve.students(REACTIONS, TRUTH, IDS, None, 0)
    assert taught == 48
