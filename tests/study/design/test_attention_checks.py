import pytest

from apportion.study.design.answers import problem_of
from apportion.study.design.attention_checks import Check, made_checks
from apportion.study.design.criteria import shipped
from apportion.study.design.items import items_of
from tests.study.studies import answers_to, responses


@pytest.mark.parametrize("name", ["geli", "pairs", "turns", "savoir", "negotiation"])
def test_who_does_what_the_words_say_passes_and_who_answers_alike_does_not_always(name):
    criteria = shipped(name)
    made = made_checks(items_of(responses(), criteria, 7).items, criteria, 7, 4)
    passed = []
    for item, check in made:
        criterion = criteria.by_name[check.criterion]
        assert problem_of(criterion, item, check.expected, whole=False) is None
        assert check.passed({check.criterion: check.expected})
        assert not check.passed({})
        assert "This is a check" in item.context + "".join(one.text for one in item.responses)
        passed.append(check.passed(answers_to(criteria, item, marked=0)))
    assert [item.item for item, _ in made] == ["c0001", "c0002", "c0003", "c0004"] and not all(passed)


def test_a_check_is_the_same_after_its_line():
    check = Check("c0001", "fair", {"r1": 2})
    assert Check.from_json(check.to_json()) == check
    with pytest.raises(TypeError, match="have to be texts"):
        Check.from_json({"item": 1, "criterion": "fair", "expected": []})


@pytest.mark.parametrize(
    ("expected", "given", "passed"),
    [
        (["r1", "r2"], ["r2", "r1"], True),
        (["r1"], ["r1", "r2"], False),
        (["r1"], "r1", False),
        ("tie", "tie", True),
        ("r1", "tie", False),
        ({"r1": 2}, {"r1": 3}, False),
        ({"r1": 2}, 2, False),
    ],
)
def test_what_passes(expected, given, passed):
    assert Check("c0001", "good", expected).passed({"good": given}) is passed
