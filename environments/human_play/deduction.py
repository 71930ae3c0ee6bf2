"""A person plays a game of hidden roles with agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from apportion.corpus.writer import check_free, folder_for
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.deduction.events import called as name_of
from apportion.environments.deduction.games import GameKind
from apportion.environments.deduction.language_model import PROMPTS
from apportion.environments.deduction.simulation import seated
from apportion.environments.deduction.text_rendering import DeductionRenderer
from apportion.environments.human_play.episode import PersonPlayed, PersonsEpisode, check_person
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.llm_client.model_spec import Called, ModelSpec

NOTE = "a person took part in every session; the other players and the rules are simulated"


@dataclass(frozen=True)
class PersonPlays:
    """What a person plays, and with whom.

    Parameters
    ----------
    game : GameKind
        One of `apportion.environments.deduction.games.GAMES`.
    seat : int
        The person's, from 1.
    others : tuple of str
        The agents from which the other seats are drawn.
    person : str
        What the person is called in the log and the corpus; no agent's name.
    seed, rules, chosen, temperature, called
        As `apportion.environments.deduction.simulation.DeductionChoice` has them.
    """

    game: GameKind
    seat: int = 1
    others: tuple[str, ...] = ("claims",)
    person: str = "person"
    seed: int = 0
    rules: Any = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @property
    def kind(self) -> str:
        """What makes the corpus."""
        return f"play {self.game.kind}"

    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The game, with everybody in their seats."""
        options = self.game.options() if self.rules is None else self.rules
        seats = self.game.make(options, None).agents
        drawn = iter(seated(self.others, len(seats) - 1, Random(f"{self.seed}/seats")))
        mine = name_of(self.seat)
        sitting = {name: person if name == mine else agents[next(drawn)] for name in seats}
        about = {**self.game.about(options), "person": self.seat}
        who = [[name, agent.called] for name, agent in sitting.items()]
        name = f"{self.game.kind}-{self.seed}-{digest([about, who])[:6]}"
        return EpisodePlan(name, lambda: self.game.make(options, None), sitting, f"{self.seed}/{self.person}", about)


def play_deduction(choice: PersonPlays, out: Path, screen: Screen) -> PersonPlayed:
    """Let a person play a game to its end, from where it stands in the folder's log.

    Parameters
    ----------
    choice : PersonPlays
        What is played, and with whom.
    out : Path
        The corpus' folder: a new one, or one in which people have played before.
    screen : Screen
        Where the person reads and types; shows nothing that its seat may not know.

    Raises
    ------
    InputError
        No such seat or agent, options or a name that cannot be used, a folder that holds something else; and as
        `PersonsEpisode.play`.
    EOFError, StoppedError, UnitError
        As `PersonsEpisode.play`.
    """
    game, options = choice.game, choice.game.options() if choice.rules is None else choice.rules
    seats = game.make(options, None).agents
    if not 1 <= choice.seat <= len(seats):
        raise InputError(f"{choice.called('seat')} {choice.seat}: no such seat; there are 1 to {len(seats)}")
    if not choice.others:
        raise InputError(f"{choice.called('others')}: nobody plays the other seats; name an agent")
    check_person(choice.person, (*game.roster.registry.names(), *PROMPTS.names()), choice.called)
    check_free(out, {"kind": choice.kind})
    person = HumanAgent(screen, DeductionRenderer(game.made), choice.person)
    cache = choice.chosen.cache_in(out)
    asked = game.roster.agents_of(choice.others, choice.chosen, cache, choice.called, choice.temperature)
    with folder_for(out), asked as agents:
        plan = choice.plan(person, agents)
        return PersonsEpisode(
            choice.kind, plan, person, name_of(choice.seat), NOTE, lambda logged: game.of_log(logged.opening["about"])
        ).play(out)
