import numpy as np
import pytest

from apportion.evaluation.human_agreement.answers import Answers
from apportion.foundation.errors import InputError

ITEMS, PEOPLE = np.array([0, 0, 1]), np.array([5, 7, 5])
VALUES = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]])


def test_what_each_annotator_said_of_each_response():
    units = Answers(("a", "b"), ITEMS, PEOPLE, VALUES).by_unit()
    assert np.array_equal(units, [[1, 1], [0, 1], [0, np.nan], [np.nan, np.nan]], equal_nan=True)


def test_the_answers_of_some_annotators():
    kept = Answers(("a", "b"), ITEMS, PEOPLE, VALUES).of_annotators([5])
    assert kept.items.tolist() == [0, 1] and kept.annotators.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("systems", "people", "message"),
    [
        ("a", PEOPLE, r"shape \(3, 2\) do not belong to 3 items, 3 annotators and 1 systems"),
        ("aa", PEOPLE, "system 'a' is named twice"),
        ("ab", np.array([5, 5, 5]), "annotator 5 answered item 0 2 times"),
    ],
)
def test_answers_that_cannot_be(systems, people, message):
    with pytest.raises(InputError, match=message):
        Answers(tuple(systems), ITEMS, people, VALUES)


def test_some_systems_alone():
    answers = Answers(("a", "b"), np.array([0]), np.array([0]), np.array([[1.0, 0.0]]))
    assert answers.of_systems(["b"]).values.tolist() == [[0.0]]
    with pytest.raises(InputError, match="no system 'c'; there are a, b"):
        answers.of_systems(["c"])
