"""A person negotiates with an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from random import Random

from apportion.corpus.writer import check_free, folder_for
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.human_play.episode import PersonPlayed, PersonsEpisode, check_person
from apportion.environments.negotiation.agents import AGENTS, ROSTER
from apportion.environments.negotiation.contexts import SEATS, Context, all_contexts, read_contexts
from apportion.environments.negotiation.game import NAMES, Negotiation
from apportion.environments.negotiation.language_model import PROMPTS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.simulation import about_game, game_of
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.llm_client.model_spec import Called, ModelSpec

KIND = "play negotiation"
NOTE = "a person took part in every session; what is shared out and what rules score are simulated"


@dataclass(frozen=True)
class PersonNegotiates:
    """What a person negotiates, and with whom.

    Parameters
    ----------
    seat : int
        The person's, from 1.
    partner : str
        The agent in the other seat.
    person : str
        What the person is called in the log and the corpus; no agent's name.
    seed : int
        Of everything that is drawn; another one gives another context, and another game.
    most_acts, contexts, chosen, temperature, called
        As `apportion.environments.negotiation.simulation.NegotiationChoice` has them; of ``contexts`` one is drawn.
    """

    seat: int = 1
    partner: str = "conceding"
    person: str = "person"
    seed: int = 0
    most_acts: int = MOST_ACTS
    contexts: Path | None = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @cached_property
    def context(self) -> Context:
        """What is shared out; raises InputError where the file of contexts cannot be read."""
        found = all_contexts() if self.contexts is None else read_contexts(self.contexts)
        return Random(f"{self.seed}/context").choice(found)

    def plan(self, person: HumanAgent, partner: Agent) -> EpisodePlan:
        """The game, with both in their seats."""
        mine = self.seat - 1
        seats = {name: person if seat == mine else partner for seat, name in enumerate(NAMES)}
        about = {**about_game(self.context, self.most_acts), "person": mine}
        # The seed holds nothing of the context: what it draws would tell of the other's values.
        seed = f"{'-'.join(agent.called for agent in seats.values())}-{self.seed}"
        name = f"{seed}-{digest(about)[:6]}"
        make = partial(Negotiation, self.context, self.most_acts)
        return EpisodePlan(name, make, seats, seed, about)


def play_negotiation(choice: PersonNegotiates, out: Path, screen: Screen) -> PersonPlayed:
    """Let a person negotiate to the end of a game, from where it stands in the folder's log.

    Parameters
    ----------
    choice : PersonNegotiates
        What is negotiated, and with whom.
    out : Path
        The corpus' folder: a new one, or one in which people have negotiated before.
    screen : Screen
        Where the person reads and types; shows nothing of the other's values.

    Raises
    ------
    InputError
        No such seat or agent, a name or file of contexts that cannot be used, a folder that holds something else; and
        as `PersonsEpisode.play`.
    EOFError, StoppedError, UnitError
        As `PersonsEpisode.play`.
    """
    if choice.seat not in range(1, SEATS + 1):
        there = " and ".join(f"{seat} ({name})" for seat, name in enumerate(NAMES, 1))
        raise InputError(f"{choice.called('seat')} {choice.seat}: no such seat; there are {there}")
    check_person(choice.person, (*AGENTS.names(), *PROMPTS.names()), choice.called)
    check_free(out, {"kind": KIND})
    person = HumanAgent(screen, NegotiationRenderer(), choice.person)
    cache = choice.chosen.cache_in(out)
    asked = ROSTER.agents_of((choice.partner,), choice.chosen, cache, choice.called, choice.temperature)
    with folder_for(out), asked as agents:
        plan = choice.plan(person, agents[choice.partner])
        seat = NAMES[choice.seat - 1]
        return PersonsEpisode(KIND, plan, person, seat, NOTE, lambda logged: game_of(logged.opening["about"])).play(out)
