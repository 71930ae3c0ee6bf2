"""Positions in games of scripts, each of a deal of its own, in which a language model decides once."""

from typing import NamedTuple

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.scripts import Claims
from apportion.environments.deduction.language_model import FORM
from apportion.environments.environment import Observation
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


class Position(NamedTuple):
    """Where one decides: the first time that ``role`` acts in ``phase`` of a quest of this number or a later one."""

    phase: str
    role: str
    quest: int


POSITIONS = (
    *(Position("vote", "servant", quest) for quest in (2, 3, 3, 4)),
    *(Position("vote", "merlin", quest) for quest in (1, 2, 3, 4)),
    *(Position("vote", "minion", quest) for quest in (1, 3)),
    *(
        Position("team", role, quest)
        for role, quest in (("servant", 2), ("servant", 3), ("merlin", 2), ("assassin", 2))
    ),
    *(
        Position("quest", role, quest)
        for role, quest in (("minion", 1), ("assassin", 2), ("minion", 3), ("assassin", 4))
    ),
    *(Position("shot", "assassin", 0) for _ in range(4)),
    *(Position("discussion", role, 2) for role in ("merlin", "servant")),
)
"""24 of them; the number of one is its game's seed."""


def placed(number: int) -> tuple[Avalon, str]:
    """The game of a position, and who is asked in it."""
    position = POSITIONS[number]
    for attempt in range(100):
        game = Avalon()
        game.reset(f"position/{number}/{attempt}")
        while game.acting():
            stage = game._stage()
            asked = [name for name in game.acting() if game.deal[game.agents.index(name)] == position.role]
            if asked and stage.phase == position.phase and stage.round >= position.quest:
                return game, asked[0]
            game.step({name: Claims().act(Observation(game, name)) for name in game.acting()})
    raise AssertionError(f"{position}: no such position in 100 games")


def model(complete: Complete) -> LanguageModelAgent:
    """Who decides: the base prompt, as the replies were recorded."""
    return LanguageModelAgent("base", "base", LLMSettings(model="claude", temperature=1.0), complete, form=FORM)
