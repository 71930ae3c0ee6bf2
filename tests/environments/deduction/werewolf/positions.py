"""Positions in games of scripts, each of a deal of its own, in which a language model decides once."""

from collections import Counter
from collections.abc import Iterator
from random import Random

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.deduction.language_model import FORM
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.scripts import Claims
from apportion.environments.environment import Observation
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings

COUNT = 24
_MOST = Counter(speak=8, vote=8)
"""How many of them may ask for an act of this kind; 2 for every other."""


def positions() -> Iterator[tuple[Werewolf, str, str]]:
    """The game of each, who is asked in it, and the style that asks: `base` and `react` by turns."""
    draws, asked, made, number = Random(7), Counter[str](), 0, 0
    while made < COUNT:
        number += 1
        game, steps = Werewolf(), draws.randrange(26)
        game.reset(f"observed/{number}")
        while not game.over and len(game.steps) < steps:
            game.step({name: Claims().act(Observation(game, name)) for name in game.acting()})
        if game.over:
            continue
        who = draws.choice(game.acting())
        kind = next(iter(game.facts(who).choices))
        if asked[kind] < (_MOST[kind] or 2):
            asked[kind] += 1
            yield game, who, ("base", "react")[made % 2]
            made += 1


def model(style: str, complete: Complete) -> LanguageModelAgent:
    """Who decides, as the replies were recorded."""
    settings = LLMSettings(model="recorded", temperature=1.0)
    return LanguageModelAgent(f"{style}@recorded", style, settings, complete, form=FORM)
