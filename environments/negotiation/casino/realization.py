"""CaSiNo's issues by their names: sentences are those of every negotiation, about packages and not books and hats."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apportion.corpus.casino_points import ISSUES, MOST, PACKAGES, WALKED_AWAY
from apportion.environments.negotiation.contexts import ITEMS, Counts
from apportion.environments.negotiation.observation import Wording

_ITEM = re.compile(rf"\b({'|'.join(ITEMS)})s?\b")
_ISSUE = re.compile(rf"\b({'|'.join(ISSUES)})s?\b", re.IGNORECASE)
_PLACES = {issue.lower(): place for place, issue in enumerate(ISSUES)}


def in_issues(text: str) -> str:
    """A sentence of ours about items, about issues; never for words of somebody else.

    >>> in_issues("I would like 2 hats and 1 ball; you can have 3 books.")
    'I would like 2 Water and 1 Firewood; you can have 3 Food.'
    """
    return _ITEM.sub(lambda found: ISSUES[ITEMS.index(found[1])], text)


def in_items(text: str) -> str:
    """Words about issues, about items, so that they can be read as an act.

    >>> in_items("All the waters, and one food")
    'All the hats, and one books'
    """
    return _ISSUE.sub(lambda found: f"{ITEMS[_PLACES[found[1].lower()]]}s", text)


def rules_in_words(names: tuple[str, str], counts: Counts, most_acts: int) -> str:
    """The task, as both know it; ``counts`` are always the same."""
    return (
        f"{names[0]} and {names[1]}, neighbours at a campsite, share out {PACKAGES} packages each of "
        f"{', '.join(ISSUES)}. To each of them one of the three is worth 5 points a package, one 4 and one 3; nobody "
        "knows the other's order. By turns, one proposes what to keep (the rest is the other's), insists on it, "
        f"agrees, disagrees or ends the talk. After the end, or after {most_acts} acts, both take packages without "
        "seeing what the other takes: if that adds up to all of them, each has the points of what was taken "
        f"(everything: {MOST}), else both have walked away, and have {WALKED_AWAY} points."
    )


def values_in_words(values: Sequence[int]) -> str:
    """What single packages are worth to one seat.

    >>> values_in_words((5, 4, 3))
    'a package of Food is worth 5 points, of Water 4, of Firewood 3'
    """
    first, *others = zip(ISSUES, values, strict=True)
    told = [f"a package of {first[0]} is worth {first[1]} points", *(f"of {issue} {value}" for issue, value in others)]
    return ", ".join(told)


PACKAGE_WORDS = Wording(tuple(issue.lower() for issue in ISSUES), rules_in_words, values_in_words, in_issues, in_items)
"""The game's wording."""
