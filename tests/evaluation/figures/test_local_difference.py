import numpy as np
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing
from apportion.evaluation.figures.local_difference import HappyTurns, happy_turns, local_difference, people_difference
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import TurnLabels, read_labels
from apportion.evaluation.settings import EvaluationSettings
from tests.evaluation.made_up import episode, features, labels

SETTINGS = EvaluationSettings()
HELD = TestSet.of([episode("a", 3, 60.0), episode("b", 2, 40.0)])
VALUES = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])


def during(feature: str, *means: float | None) -> list[tuple[str, int, str, str, str, float | None]]:
    places = [("a", 0), ("a", 2), ("a", 4), ("b", 0), ("b", 2)]
    return [(s, t, "user", "during", feature, mean) for (s, t), mean in zip(places, means, strict=True)]


def faces(table: object) -> HappyTurns:
    found = happy_turns(table, HELD, SETTINGS)  # type: ignore[arg-type]
    assert isinstance(found, HappyTurns)
    return found


def test_hand_computed_case():
    found = faces(features(during("happiness", 0.9, 0.2, None, 0.5, 0.0)))
    assert found.feature == "happiness"
    assert found.happy.tolist() == [True, False, False, True, False]
    assert found.seen.tolist() == [True, True, False, True, True]
    assert found.too_few is not None and "2 turns with a happy face and 2 without" in found.too_few.reason
    difference = local_difference(HELD, VALUES, found, SETTINGS)
    assert isinstance(difference, BootstrapResult)
    assert difference.value == pytest.approx((1 + 4) / 2 - (2 + 5) / 2)


def test_happiness_is_preferred_to_smile_and_smile_is_the_fallback():
    smile, happiness = during("smile", 1.0, 1.0, 1.0, 0.0, 0.0), during("happiness", 0.0, 0.0, 0.0, 1.0, 1.0)
    assert faces(features(smile + happiness)).happy.tolist() == [False, False, False, True, True]
    fallback = faces(features(smile))
    assert (fallback.feature, fallback.threshold) == ("smile", SETTINGS.smile_threshold)
    assert fallback.happy.tolist() == [True, True, True, False, False]


def test_the_fallback_says_why():
    happiness, smile = during("happiness", 0.9, 0.0, 0.0, 0.0, 0.0), during("smile", 1.0, 0.0, 0.0, 0.0, 0.0)
    assert faces(features(smile + happiness)).why == ""
    empty = during("happiness", None, None, None, None, None)
    for table in (features(smile), features(smile + empty)):
        assert faces(table).why == "no emotion model measured happiness"
    elsewhere = [("training", 0, "user", "during", "happiness", 0.9)]
    assert faces(features(smile + empty + elsewhere)).why == "no held-out turn has its happiness measured"


def test_the_feature_that_sees_more_sessions_is_taken_and_what_it_leaves_out_is_said():
    in_a = (0.9, 0.0, 0.0, None, None)
    smile, happiness = during("smile", 1.0, 0.0, 1.0, 0.0, 0.0), during("happiness", *in_a)
    found = faces(features(smile + happiness))
    assert (found.feature, found.why) == (
        "smile",
        "only 1 of 2 held-out sessions with a face have their happiness measured",
    )
    assert found.seen.all() and found.happy.tolist() == [True, False, True, False, False]
    in_b = (None, None, None, 1.0, 0.0)
    found = faces(features(during("smile", *in_b) + happiness))
    assert (found.feature, found.why) == ("happiness", "1 of 2 sessions with a face have no happiness and are left out")
    assert found.seen.tolist() == [True, True, True, False, False]


def test_the_target_s_face_and_the_reply_do_not_count():
    rows = [("a", 0, "bot", "during", "smile", 1.0), ("a", 0, "user", "reply", "smile", 1.0)]
    assert isinstance(happy_turns(features(rows), HELD, SETTINGS), Missing)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (None, "no recordings"),
        (features([]), "no recordings"),
        (features([("a", 0, "user", "during", "f0", 1.0)]), "no happiness and no smile"),
        (features(during("smile", None, None, None, None, None)), "no happiness and no smile"),
    ],
)
def test_without_faces_the_reason_is_said(table, reason):
    found = happy_turns(table, HELD, SETTINGS)  # type: ignore[arg-type]
    assert isinstance(found, Missing) and reason in found.reason


@pytest.mark.parametrize(("level", "reason"), [(0.0, "no held-out turn has"), (1.0, "every held-out turn has")])
def test_one_sided_faces_give_no_difference(level, reason):
    found = local_difference(HELD, VALUES, faces(features(during("smile", *[level] * 5))), SETTINGS)
    assert isinstance(found, Missing) and reason in found.reason


def test_sessions_without_a_face_are_not_resampled():
    found = local_difference(HELD, VALUES, faces(features(during("smile", 1.0, 0.0, 0.0, None, None))), SETTINGS)
    assert isinstance(found, BootstrapResult) and found.sessions == 1


def by_people(*rows: tuple[str, int, str, float]) -> TurnLabels:
    read = read_labels(labels(rows), HELD, SETTINGS)
    assert isinstance(read, TurnLabels)
    return read


def test_people_s_own_labels_in_a_reward_s_place():
    found = faces(features(during("happiness", 0.9, 0.2, None, 0.5, 0.0)))
    said = by_people(("a", 0, "x", 5.0), ("a", 0, "y", 4.0), ("a", 2, "x", 1.0), ("a", 4, "x", 2.0), ("b", 0, "x", 3.0))
    difference = people_difference(HELD, said, found, SETTINGS)
    assert isinstance(difference, BootstrapResult)
    assert difference.value == pytest.approx((4.5 + 3.0) / 2 - 1.0)  # turn a4 has no face, b2 no label


def test_labels_and_faces_on_different_turns_give_no_human_row():
    found = faces(features(during("smile", 1.0, 0.0, None, None, None)))
    for said, reason in (
        (by_people(("b", 0, "x", 5.0)), "both a label and the rater's face"),
        (by_people(("a", 2, "x", 5.0)), "no held-out turn has a happy rater"),
    ):
        missing = people_difference(HELD, said, found, SETTINGS)
        assert isinstance(missing, Missing) and reason in missing.reason
