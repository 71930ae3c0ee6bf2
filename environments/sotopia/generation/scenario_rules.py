"""E.2's guideline for scenarios, as far as code can check it; each rule in the paper's words.

A rule says what looks wrong. It is no verdict: a person reads what it says, mends the text or accepts it as it is. What
only a person can tell (whether a scenario is plausible and natural) is in `FOR_A_PERSON`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from apportion.environments.sotopia.generation.inputs import Item
from apportion.environments.sotopia.generation.profile_rules import Rule
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.tasks import Relationship, Scenario
from apportion.foundation.errors import UnitError

RATE = 0.5
"""Of the exponential distribution that the markup ratio is drawn from; its mean is 2."""
SELLER, BUYER = "seller", "buyer"


@dataclass(frozen=True)
class Sale:
    """A thing, and in dollars the seller's and the buyer's ``targets``; their ``limits`` likewise, or none."""

    item: Item
    targets: tuple[float, float]
    limits: tuple[float, ...] = ()

    @property
    def terms(self) -> Terms | None:
        """What rules check: from each side's limit to its target; None where no limits are given."""
        return Terms(OneNumber(self.limits, self.targets)) if self.limits else None


def seller_target(price: float, draws: Random) -> float:
    """The seller's target price: what the thing is offered for, divided by 1 + a markup ratio that is drawn.

    ``price``: What it is offered for, in dollars. ``draws``: Gives the ratio: exponential with rate 0.5. Returns: In
    dollars, to the cent.
    """
    return round(price / (1.0 + draws.expovariate(RATE)), 2)  # C.2: price / (1 + markup ratio)


def sale_of(item: Item, seed: int | str) -> Sale:
    """The sale of an item; ``seed`` and the item decide the draw.

    Raises UnitError: the seller's target is not above what the seller would never go below.
    """
    draws = Random(f"{seed}/{item.title}/{item.price:g}")
    target = seller_target(item.price, draws)
    if item.seller_least is None or item.buyer_most is None:
        return Sale(item, (target, item.buyer_price))
    if target <= item.seller_least:
        raise UnitError(
            f"the seller's target that was drawn, {dollars(target)}, is not above seller_least "
            f"{dollars(item.seller_least)}. Lower seller_least, or take another seed"
        )
    return Sale(item, (target, item.buyer_price), (item.seller_least, item.buyer_most))


def dollars(value: float) -> str:
    """A price as it stands in a sentence.

    >>> dollars(60.0), dollars(1234.5)
    ('$60', '$1234.50')
    """
    return f"${value:.0f}" if value == int(value) else f"${value:.2f}"


MORE_PAIRS_THAN = 5
"""Note 3: discard what not more than five pairs can play because of its constraints."""
FOR_A_PERSON = (
    "make sure the scenario and social goals are plausible and natural",
    "illustrate ... for what purpose agent1 is interacting with agent2",
    "one point that both sides may not agree upon initially and need to collaboratively resolve",
)
_GENDERED = re.compile(
    r"\b(he|him|his|himself|she|her|hers|herself|m[ae]n|wom[ae]n|boys?|girls?|boyfriends?|girlfriends?|husbands?|wi(?:fe|ves)|"
    r"m(?:o|u)ms?|mothers?|dads?|fathers?|sons?|daughters?|brothers?|sisters?|uncles?|aunts?|nephews?|nieces?|"
    r"grand(?:mother|father|son|daughter|ma|pa)s?|lad(?:y|ies)|gentlem[ae]n|sir|madam|mr|mrs|ms|"
    r"(?:wait|act)ress(?:es)?|business(?:wo)?m[ae]n|(?:police|sales|fire)(?:wo)?m[ae]n)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"I|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October|"
    r"November|December|Agent|Extra|Hint|You|Your|Christmas|Internet|English"
)
_CAPITALISED = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\b")
_HINT = re.compile(
    r"<strategy_hint>|\byou (?:can|could|might|may|should) (?:offer|suggest|propose|buy|give|try|tell|promise|bring|"
    r"invite|pay|use|say|mention|remind|point out)\b|\bfor example\b|\be\.g\.|\bsuch as by\b|\bby (?:offering|buying|"
    r"giving|suggesting|telling|promising|inviting|paying|mentioning|reminding)\b",
    re.IGNORECASE,
)
_AGENT = re.compile(r"\bagent ?[12]\b", re.IGNORECASE)
_PRICE = re.compile(r"\$([0-9][0-9,]*(?:[.][0-9]+)?)")
_RELATED = {
    Relationship.STRANGER: r"strangers?|never met|do not know each other|don't know each other",
    Relationship.ACQUAINTANCE: r"acquaintances?|neighbou?rs?|colleagues?|co-?workers?|classmates?|teammates?",
    Relationship.FRIEND: r"friends?|roommates?|flatmates?",
    Relationship.ROMANTIC: r"couple|romantic|spouses?|married|dating|partners in life|fianc[eé]+s?",
    Relationship.FAMILY: r"family members?|siblings?|cousins?|parents?|child of|grandparents?|relatives?",
}
_ALSO = {
    # Friends and acquaintances share houses, desks and streets.
    Relationship.FRIEND: Relationship.ACQUAINTANCE,
    Relationship.ACQUAINTANCE: Relationship.FRIEND,
    Relationship.KNOW_BY_NAME: Relationship.ACQUAINTANCE,
}


def _texts(scenario: Scenario) -> Iterator[tuple[str, str]]:
    yield "the context", scenario.context
    yield from ((f"the goal of agent {seat}", goal) for seat, goal in enumerate(scenario.goals, 1))


def _first(pattern: re.Pattern[str], scenario: Scenario) -> str | None:
    """Where a pattern is found first, in words."""
    for place, text in _texts(scenario):
        match = pattern.search(text)
        if match:
            return f"{place} has {match[0]!r}"
    return None


def _two_agents(scenario: Scenario, space: TaskSpace) -> str | None:
    seats = len(scenario.goals)
    return None if seats == 2 else f"it has {seats} agents"


def _names(scenario: Scenario, space: TaskSpace) -> str | None:
    names = {part for one in space.characters for part in (one.name, *one.name.split()) if len(part) > 2}
    for place, text in _texts(scenario):
        for name in sorted(names):
            if re.search(rf"\b{re.escape(name)}\b", text):
                return f"{place} has the name {name!r}"
    return None


def _maybe_names(scenario: Scenario, space: TaskSpace) -> str | None:
    for place, text in _texts(scenario):
        for match in _CAPITALISED.finditer(text):
            if not _NO_NAME.fullmatch(match[0]):
                return f"{place} has {match[0]!r}, which may be a name"
    return None


def _occupations_named(scenario: Scenario, space: TaskSpace) -> str | None:
    for occupation in sorted({one.occupation for one in space.characters if one.occupation}):
        if re.search(rf"\b{re.escape(occupation)}s?\b", scenario.context, re.IGNORECASE):
            return f"the context has the occupation {occupation!r}"
    return None


def _gender_neutral(scenario: Scenario, space: TaskSpace) -> str | None:
    return _first(_GENDERED, scenario)


def _consistent(scenario: Scenario, space: TaskSpace) -> str | None:
    own = {scenario.relationship, _ALSO.get(scenario.relationship, scenario.relationship)}
    said = {kind for kind, words in _RELATED.items() if re.search(rf"\b(?:{words})\b", scenario.context, re.IGNORECASE)}
    if not said or said & own:
        return None
    others = ", ".join(kind.words for kind in sorted(said))
    return f"the constraint is {scenario.relationship.words}, the context speaks of {others}"


def _available(scenario: Scenario, space: TaskSpace) -> str | None:
    there = [one.occupation.casefold() for one in space.characters]
    for suits in scenario.occupations:
        for occupation in suits:
            if not any(occupation.casefold() in own for own in there):
                return f"no character is {occupation!r}"
    return None


def _enough_pairs(scenario: Scenario, space: TaskSpace) -> str | None:
    if len(scenario.goals) != 2:
        return None
    fitting, people = len(space.fitting(scenario)), f"of {len(space.characters)} characters"
    if fitting == 0:
        return f"no pair {people} can play it"
    narrowed = fitting < len(space.fitting(scenario, constrained=False))
    if narrowed and fitting <= MORE_PAIRS_THAN:
        return f"only {fitting} pairs {people} can play it"
    return None


def _abstract(scenario: Scenario, space: TaskSpace) -> str | None:
    found = _first(_HINT, scenario)
    return found and f"{found}, which may be too specific a hint"


def _goals_differ(scenario: Scenario, space: TaskSpace) -> str | None:
    return "all agents have the same goal" if len({goal.casefold() for goal in scenario.goals}) == 1 else None


def _called(scenario: Scenario, space: TaskSpace) -> str | None:
    found = _first(_AGENT, scenario)
    return found and f"{found}, and no player learns which of the two it is"


def _at_odds(scenario: Scenario, space: TaskSpace) -> str | None:
    deal = None if scenario.terms is None else scenario.terms.deal
    if isinstance(deal, OneNumber):
        targets = list(deal.best)
    else:
        said = [_PRICE.search(goal) for goal in scenario.goals]
        targets = [float(price[1].replace(",", "")) for price in said if price is not None]
    if len(targets) == 2 and targets[0] <= targets[1]:
        return f"the seller aims at {targets[0]:g} and the buyer at {targets[1]:g}: both get it at once"
    return None


def _new(scenario: Scenario, space: TaskSpace) -> str | None:
    for other in space.scenarios:
        if other.name != scenario.name and other.context.casefold() == scenario.context.casefold():
            return f"its context is that of {other.name!r}"
    return None


_RULES = (
    Rule("two-agents", "the scenario should have two agents (agent1 and agent2)", _two_agents),
    Rule("no-names", "avoid mentioning specific names", _names),
    Rule("no-occupations", "avoid mentioning specific ... occupations in the scenario", _occupations_named),
    Rule("gender-neutral", "make sure the scenario and social goals are gender neutral", _gender_neutral),
    Rule("consistent", "make sure the constraints are consistent with the scenario and social goals", _consistent),
    Rule("available", "the available occupations are those of the characters", _available),
    Rule(
        "enough-pairs",
        "discard ... if the occupations constraints are too narrow (more than five pairs)",
        _enough_pairs,
    ),
    Rule("abstract", "avoid having too specific strategy hints, try to be as abstract as possible", _abstract),
    Rule("two-goals", "the social goals of each agent", _goals_differ),
    Rule("called", "ours: who plays it knows what it is called in it", _called),
    Rule("new", "ours: no other scenario has the same context", _new),
)
SCENARIO_RULES = (*_RULES, Rule("no-capitals", "avoid mentioning specific names", _maybe_names))
SALE_RULES = (*_RULES, Rule("at-odds", "one point that both sides may not agree upon initially", _at_odds))
"""What is sold may be called by the name of its maker."""
