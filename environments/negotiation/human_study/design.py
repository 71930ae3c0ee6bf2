"""Who plays what, in which order: within subjects, everybody with every agent, drawn by the participant's id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from apportion.environments.negotiation.contexts import Context, draw_context
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.foundation.errors import InputError

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
PRACTICE = 0
"""The number of the practice game; those that count begin at 1."""


@dataclass(frozen=True)
class StudyGame:
    """One game of one person: its number, its agent, its context, and the seed of what is drawn in it."""

    number: int
    agent: str
    context: Context
    seed: str


def check_participant(name: str) -> str:
    """The id of somebody who takes part: all that is kept of a person.

    Raises InputError: It has other characters than letters, digits, hyphens and underscores, or more than 40.
    """
    if not _ID.fullmatch(name):
        raise InputError(f"participant {name!r:.80}: an id of 1 to 40 letters, digits, - or _ is needed, and no name")
    return name


def games_of(study: StudySettings, participant: str) -> tuple[StudyGame, ...]:
    """The practice game and the games that count, in this person's order.

    The order of the agents and the contexts are drawn by the study's seed and the participant's id, so that they are
    the same after a pause (Appendix B: both are randomized).
    """
    draws = Random(f"{study.seed}/{study.digest}/{participant}")
    agents = [agent for agent in study.agents for _ in range(study.games)]
    draws.shuffle(agents)
    return tuple(
        StudyGame(number, agent, _context(study, draws), f"{study.seed}/{participant}/{number}")
        for number, agent in enumerate([study.practice, *agents])
    )


def _context(study: StudySettings, draws: Random) -> Context:
    return draws.choice(study.given_contexts) if study.given_contexts else draw_context(draws)
