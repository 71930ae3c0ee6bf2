"""The rules that candidates are held to: each holds where it should, and says what it finds where it does not."""

from dataclasses import replace

import pytest

from apportion.environments.sotopia.generation.profile_rules import CHARACTER_RULES, RELATIONSHIP_RULES, Rule, findings
from apportion.environments.sotopia.generation.scenario_rules import SALE_RULES, SCENARIO_RULES
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import KnownPair, TaskSpace
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario

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
        ({"context": "Two brothers meet, friends too."}, "gender-neutral", "the context has 'brothers'"),
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


def test_friends_may_share_a_street_and_no_word_at_all_is_fine() -> None:
    for text in ("Two neighbours who are friends meet.", "Two neighbours meet.", "Two people meet."):
        assert findings(SCENARIO_RULES, replace(GOOD, context=text), SPACE).failed == ()


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


def test_a_gender_that_no_list_has_takes_any_pronouns() -> None:
    assert findings(CHARACTER_RULES, replace(ANN, gender="agender", pronouns="xe/xem", secret="x"), SPACE).failed == ()


def test_rules_have_names_of_their_own() -> None:
    for rules in (SCENARIO_RULES, SALE_RULES, CHARACTER_RULES, RELATIONSHIP_RULES):
        assert len({rule.name for rule in rules}) == len(rules)
    assert findings((Rule("r", "w", lambda made, space: "p"),), None, TaskSpace("x")).failed == ("r: p (w)",)
