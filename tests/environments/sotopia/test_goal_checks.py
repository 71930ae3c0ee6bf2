"""What rules can check: offers that bind, secrets that were given away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.environment import Action
from apportion.environments.sotopia.goal_checks import (
    PHYSICAL,
    Agreement,
    OneNumber,
    Split,
    Terms,
    agreement,
    offered,
)
from apportion.foundation.errors import InputError

PRICE = OneNumber((60.0, 100.0), (100.0, 60.0))
TIME = OneNumber((1080.0, 1230.0), (1230.0, 1080.0), clock=True)
SPLIT = Split({"book": 2, "hat": 1}, ((2.0, 6.0), (4.0, 2.0)))


def deed(text: str) -> Action:
    return Action(PHYSICAL, text)


@pytest.mark.parametrize(
    ("deal", "text", "offer"),
    [
        (PRICE, "offer: 85", 85.0),
        (PRICE, "Offer $85.50", 85.5),
        (PRICE, "offer: 90 dollars.", 90.0),
        (PRICE, "offer: 1e9", None),
        (PRICE, "offer: -5", None),
        (PRICE, "offer: 85 and a smile", None),
        (PRICE, "85", None),
        (PRICE, "offers: 85", None),
        (TIME, "offer: 18:30", 1110.0),
        (TIME, "offer: 24:00", None),
        (TIME, "offer: 1830", None),
        (SPLIT, "offer: 1 book, 1 hat", (1, 1)),
        (SPLIT, "offer: 2 books and 1 Hats", (2, 1)),
        (SPLIT, "offer: 1 hat", (0, 1)),
        (SPLIT, "offer: 3 books", None),
        (SPLIT, "offer: 1 shoe", None),
        (SPLIT, "offer: all", None),
    ],
)
def test_an_offer_is_read_or_is_none(deal: OneNumber | Split, text: str, offer: object) -> None:
    assert offered(deal, deed(text)) == offer
    assert offered(deal, Action("speak", text)) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["offer: 70", "offer: 80", "accept", "hm"])), max_size=14))
def test_everybody_else_accepts_the_last_offer_or_there_is_none(script: list[tuple[int, str]]) -> None:
    acts = [(seat, deed(text)) for seat, text in script]
    expected = None
    for end in range(len(script)):
        last = max((i for i in range(end + 1) if script[i][1].startswith("offer")), default=None)
        if last is not None and expected is None:
            who = {seat for seat, text in script[last + 1 : end + 1] if text == "accept"}
            if {0, 1, 2} - {script[last][0]} <= who:
                expected = Agreement(float(script[last][1][-2:]), script[last][0])
    assert agreement(PRICE, 3, acts) == expected


def test_a_side_knows_nothing_of_the_other_s() -> None:
    other = OneNumber((60.0, 90.0), (100.0, 20.0))
    assert Terms(PRICE, (("a",), ("b",))).side(0) == Terms(other, (("a",), ("c",))).side(0)
    assert SPLIT.side(1).worth((0, 1), 0, 0) == SPLIT.worth((0, 1), 1, 1)
    assert SPLIT.side(1).worth((0, 1), 0, 1) == SPLIT.worth((0, 1), 1, 0)


def test_terms_that_say_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="worst and best of agent 2 are both 5"):
        OneNumber((1.0, 5.0), (2.0, 5.0))
    with pytest.raises(InputError, match="agent 1 has values"):
        Split({"book": 1}, ((0.0,), (1.0,)))
    with pytest.raises(InputError, match="agent 2 has values"):
        Split({"book": 1}, ((1.0,), (1.0, 2.0)))
