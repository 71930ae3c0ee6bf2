import numpy as np
import pytest

from apportion.evaluation.figures.trust import Trust, replies_tell, told, trust

UP, DOWN, MIXED = (0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)


def dialogues(*kinds):
    return {f"s{i}": dict(enumerate(kind)) for i, kind in enumerate(kinds)}


def one(value, low, high, used=20, labelled=20, name="m"):
    return Trust(name, value, low, high, used, labelled)


@pytest.mark.parametrize(
    ("given", "settled", "more"),
    [
        (one(0.4, 0.25, 0.55), True, 0),
        (one(0.0, -0.13, 0.13), False, 0),
        (one(-0.3, -0.4, -0.2), False, 0),
        (one(0.25, 0.10, 0.40), None, 1),  # just not above the least
        (one(0.2, 0.05, 0.35), None, 25),  # 20 * (.15 / .1)^2 = 45
        (one(0.2, 0.05, 0.35, labelled=40), None, 50),  # half of what is labelled can say something
        (one(0.1, -0.1, 0.3), None, 1),
        (one(0.9, 0.8, 1.0, used=9, labelled=18), None, 2),  # too few for an interval
        (one(None, None, None, used=0), None, 200),
    ],
)
def test_a_verdict_follows_from_the_interval(given, settled, more):
    assert (given.settled, given.more) == (settled, more)


def test_what_chance_orders_is_not_trusted_what_agrees_is_and_an_equal_share_is_not_asked():
    rng = np.random.default_rng(0)
    labels = {f"s{i}": dict(enumerate(rng.permutation(10))) for i in range(20)}
    values = {
        "chance": {session: dict(enumerate(rng.permutation(10))) for session in labels},
        "same": {session: dict(turns) for session, turns in labels.items()},
        "uniform": {session: dict.fromkeys(turns, 0.5) for session, turns in labels.items()},
    }
    found = trust(labels, values)
    assert [(of.method, of.settled) for of in found] == [("same", True), ("chance", False)]
    assert found[0].value == pytest.approx(1.0)
    assert told(found)[0] == "Replies tell how turns land here, by the labels of 20 dialogues."
    assert "trust no method" in told(found[1:])[0]


@pytest.mark.parametrize(
    ("labels", "values", "value", "used", "labelled"),
    [
        (dialogues(UP), dialogues(UP), 1.0, 1, 1),
        (dialogues(UP, UP), dialogues(UP, DOWN), 0.0, 2, 2),
        (dialogues((1, 1, 1, 1), UP), dialogues(UP, UP), 1.0, 1, 2),  # labels that are alike say nothing
        (dialogues((1, 2, 3), UP), dialogues(DOWN, UP), 1.0, 1, 2),  # three labels are too few
        (dialogues(UP, UP), dialogues((5, 5, 5, 5), UP), 0.5, 2, 2),  # values that are alike are chance
        (dialogues(UP, UP), {"s1": dict(enumerate(UP))}, 0.5, 2, 2),  # an unknown dialogue as well
        (dialogues(UP), dialogues((0, None, 2, float("nan"))), 0.632, 1, 1),
        (dialogues(range(10), UP), dialogues(range(10), DOWN), 0.5, 2, 2),  # (9 - 3) / (9 + 3)
        ({}, dialogues(UP), None, 0, 0),
    ],
)
def test_dialogues_count_by_what_they_can_say(labels, values, value, used, labelled):
    (found,) = trust(labels, {"m": values})
    assert found.value == (None if value is None else pytest.approx(value, abs=1e-3))
    assert (found.dialogues, found.labelled) == (used, labelled)


@pytest.mark.parametrize(
    ("found", "head"),
    [
        ([], "No method that reads replies"),
        ([one(0.2, 0.05, 0.35)], "not settled by the labels of 20 dialogues: label about 25 more."),
        ([one(0.9, 0.8, 1.0, used=9)], "only 9 of them have enough labels that differ: label about 3 more."),
        ([one(0.0, -0.1, 0.1), one(0.2, 0.05, 0.35)], "not settled"),
        ([one(0.2, 0.05, 0.35), one(0.2, 0.15, 0.25)], "Replies tell how turns land here"),
    ],
)
def test_the_verdict_in_words(found, head):
    assert head in told(found)[0]
    assert len(told(found)) == 1 + len(found)
    assert replies_tell(found) is None or replies_tell(found) in found
