"""The rules that candidates are held to: each holds where it should, and says what it finds where it does not."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.environments.sotopia.generation.inputs import Item
from apportion.environments.sotopia.generation.profile_rules import CHARACTER_RULES, RELATIONSHIP_RULES, findings
from apportion.environments.sotopia.generation.scenario_rules import (
    SALE_RULES,
    SCENARIO_RULES,
    Sale,
    sale_of,
    seller_target,
)
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import KnownPair
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario
from apportion.foundation.errors import UnitError

SPACE = bundled_tasks.space()
GOOD = Scenario(
    "good",
    "Two friends meet at the lake on Sunday, because one person wants to borrow the boat of the other.",
    ("You want the boat for a week.", "You need the boat on Friday."),
    Relationship.FRIEND,
)
ANN = Character("Ann Lee", 30, "woman", "she/her", "baker", "Ann bakes bread.", secret="She cannot swim.")
PAIR = KnownPair(("Nadia Ferro", "Oskar Dunne"), Relationship.FRIEND, "Nadia and Oskar are friends from school.")


def test_a_good_one_keeps_every_rule() -> None:
    assert findings(SCENARIO_RULES, GOOD, SPACE).failed == ()
    assert len(findings(SCENARIO_RULES, GOOD, SPACE).passed) == len(SCENARIO_RULES)
    assert findings(CHARACTER_RULES, ANN, SPACE).failed == findings(RELATIONSHIP_RULES, PAIR, SPACE).failed == ()


@pytest.mark.parametrize(
    ("change", "rule", "message"),
    [
        ({"goals": ("a", "b", "c")}, "two-agents", "it has 3 agents"),
        ({"context": "Two friends, one of whom is Nadia, meet."}, "no-names", "the context has the name 'Nadia'"),
        ({"context": "Two friends meet to see Robin."}, "no-capitals", "the context has 'Robin', which may be a name"),
        ({"context": "A barista meets a friend."}, "no-occupations", "the context has the occupation 'barista'"),
        ({"goals": ("Ask her.", "Wait.")}, "gender-neutral", "the goal of agent 1 has 'her'"),

        ({"context": "Two strangers meet."}, "consistent", "is friend, the context speaks of stranger"),
        ({"occupations": (("astronaut",), ())}, "available", "no character is 'astronaut'"),
        ({"occupations": (("barista",), ())}, "enough-pairs", "only 2 pairs of 8 characters can play it"),
        ({"ages": ((90, 99), (18, 70))}, "enough-pairs", "no pair of 8 characters can play it"),
        ({"goals": ("You can offer money.", "Wait.")}, "abstract", "has 'You can offer', which may be too specific"),
        ({"goals": ("Same.", "same.")}, "two-goals", "all agents have the same goal"),
        ({"context": "Two friends meet; agent1 is late."}, "called", "the context has 'agent1'"),
        ({"context": bundled_tasks.scenarios()[8].context}, "new", "its context is that of 'borrowed_coat'"),
    ],
)  # fmt: skip
def test_a_broken_rule_says_what_it_finds(change: dict, rule: str, message: str) -> None:
    (told,) = [one for one in findings(SCENARIO_RULES, replace(GOOD, **change), SPACE).failed if one.startswith(rule)]
    assert message in told and told.endswith(")")


def test_a_sale_may_name_its_make_and_has_sides_at_odds() -> None:
    sale = replace(
        GOOD, context="One person is selling a red Zephyr for $90.", relationship=Relationship.STRANGER,
        goals=("Your target price is $80.", "Your target price is $1,060.50."),
    )  # fmt: skip
    (told,) = findings(SALE_RULES, sale, SPACE).failed
    assert told.startswith("at-odds: the seller aims at 80 and the buyer at 1060.5: both get it at once")
    assert findings(SALE_RULES, replace(sale, goals=("$80", "$60")), SPACE).failed == ()
    priced = replace(sale, goals=("$1", "$2"), terms=Terms(OneNumber((10.0, 90.0), (80.0, 60.0))))
    assert findings(SALE_RULES, priced, SPACE).failed == ()


@pytest.mark.parametrize(
    ("change", "rule", "message"),
    [
        ({"gender": "nonbinary", "pronouns": "he/him", "secret": "x"}, "pronouns", "gender 'nonbinary' with pron"),
        ({"public_info": "He bakes."}, "told-as", "pronouns 'she/her', and the texts say 'he'"),
        ({"secret": ""}, "both-told", "no secret"),
        (
            {"public_info": "Ann sold the old family house by the sea.",
             "secret": "She sold the old family house by the sea to a bank."},
            "secret-kept", "the public information says 'sold the old family house by'",
        ),
        ({"name": "nadia ferro"}, "own-name", "there is a 'Nadia Ferro' already"),
    ],
)  # fmt: skip
def test_a_profile_that_does_not_fit_itself_is_told(change: dict, rule: str, message: str) -> None:
    (told,) = findings(CHARACTER_RULES, replace(ANN, **change), SPACE).failed
    assert told.startswith(f"{rule}: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"story": "Nadia knows a friend."}, "both-named: the story does not name 'Oskar Dunne'"),
        ({"between": ("Nadia Ferro", "Tomasz Wilk"), "relationship": Relationship.FAMILY,
          "story": "Nadia and Tomasz share a family."}, "one-relationship: they are friend already"),
        ({"story": "Nadia and Oskar are family."}, "as-said: the story speaks of family"),
    ],
)  # fmt: skip
def test_a_relationship_that_does_not_fit_is_told(change: dict, message: str) -> None:
    (told,) = findings(RELATIONSHIP_RULES, replace(PAIR, **change), SPACE).failed
    assert told.startswith(message)


def test_the_markup_ratio_is_exponential_with_rate_one_half() -> None:
    draws = Random(1)
    markups = np.array([1e6 / seller_target(1e6, draws) - 1.0 for _ in range(4000)])
    # An exponential of rate 0.5 has the scale 2; a rate of 1 or 0.45 would be refused at this size.
    assert stats.kstest(markups, stats.expon(scale=2.0).cdf).pvalue > 0.01
    assert abs(markups.mean() - 2.0) < 0.1


@given(st.floats(1.0, 1e6), st.integers())
def test_the_target_lies_between_nothing_and_the_price_and_is_the_seed_s(price: float, seed: int) -> None:
    target = seller_target(price, Random(seed))
    assert 0.0 <= target <= price + 0.005 and target == seller_target(price, Random(seed)) == round(target, 2)


def test_limits_make_a_sale_that_rules_can_check() -> None:
    free = Item("boat", "old", 100.0, 60.0, "p")
    target = sale_of(free, 0).targets[0]
    assert sale_of(free, 0) == Sale(free, (target, 60.0)) and sale_of(free, 0).terms is None
    assert sale_of(free, 1).targets[0] != target
    bound = Item("boat", "old", 100.0, 60.0, "p", target - 1.0, 90.0)
    assert sale_of(bound, 0).terms == Terms(OneNumber((target - 1.0, 90.0), (target, 60.0)))
    with pytest.raises(UnitError, match="is not above seller_least"):
        sale_of(Item("boat", "old", 100.0, 60.0, "p", target, 90.0), 0)
