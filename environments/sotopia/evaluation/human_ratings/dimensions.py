"""What people are asked in each dimension (section 3, Appendix D), in a line or two."""

from __future__ import annotations

from typing import NamedTuple

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS


class Asked(NamedTuple):
    """A dimension for a person: what it is called, what is asked, and what the ends of its scale mean."""

    title: str
    question: str
    ends: str


ASKED = {
    "BEL": Asked(
        "believability",
        "Does this person act naturally and realistically, and in line with the profile (personality, values)?",
        "higher: more believable",
    ),
    "REL": Asked(
        "relationship",
        "Is the relationship with the others better or worse than before? Their reputation and social standing, too.",
        "below 0: worse; 0: as before; above 0: better",
    ),
    "KNO": Asked(
        "knowledge",
        "What has this person learned that is new and important to them?",
        "higher: more, and more important",
    ),
    "SEC": Asked(
        "secret",
        "Which secret or secretive intention did this person want to keep, and was it kept?",
        "-10: a critical one was given away; 0: nothing was, or there is none",
    ),
    "SOC": Asked(
        "social rules",
        "Did this person break moral rules, social norms or laws?",
        "-10: gravely; 0: not at all",
    ),
    "FIN": Asked(
        "financial and material benefits",
        "What did this person gain or lose, in money, goods, or chances that last?",
        "below 0: a loss; 0: neither; above 0: a gain",
    ),
    "GOAL": Asked(
        "goal completion",
        "How far has this person reached the own goal?",
        "0: hardly; 10: completely",
    ),
}


def asked_line(dimension: str) -> str:
    """A dimension in one line.

    >>> asked_line("KNO")
    'KNO knowledge, 0 to 10 (higher: more, and more important)'
    """
    low, high = RANGES[dimension]
    return f"{dimension} {ASKED[dimension].title}, {low:g} to {high:g} ({ASKED[dimension].ends})"


assert tuple(ASKED) == DIMENSIONS
