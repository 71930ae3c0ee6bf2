"""From a choice of a game and agents to the matches of a league, the same deals whoever plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.deduction.game import Deduction
from apportion.environments.deduction.simulation import DeductionChoice, in_time
from apportion.environments.tournament.team_games.seating import POOL, SeatAssignment, seated

SEATING = "seating"
"""The field of a log's opening that says how seats were given away."""


@dataclass(frozen=True)
class LeagueChoice(DeductionChoice):
    """What is played, and by whom; ``games`` are the matches, of every ordered pair of agents in a league of teams.

    Parameters
    ----------
    mode : str
        `POOL`: every seat is drawn from the agents with the same chance (Stackelberg Speaker, section 4.1). `TEAMS`:
        each agent has a team to itself, against each agent in the other one (section 4.3). Which seats a team has is
        said by the dealt roles.
    """

    mode: str = POOL

    @classmethod
    def of(cls, choice: DeductionChoice, mode: str) -> LeagueChoice:
        """A league of what was chosen to be played."""
        return cls(**{one.name: getattr(choice, one.name) for one in fields(DeductionChoice)}, mode=mode)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What makes the corpus."""
        return f"tournament {self.game.kind}"

    @property
    def total(self) -> int:
        """Matches in all; raises InputError: nothing to play."""
        return super().total * (1 if self.mode == POOL else len(self.agents) ** 2)

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""
        return {**super().record(), SEATING: self.mode}

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The matches, in the order of play."""
        make = partial(self.game.make, self.options, None)
        game, about = make(), {**self.game.about(self.options), SEATING: self.mode}
        teams = tuple(dict.fromkeys(game.teams.values()))
        named = self.players.called_as
        plans = []
        for one in seated(self.mode, named, teams, len(game.agents), super().total, self.seed):
            names = _sitting(game, one)
            sitting = {seat: in_time(agents[name], self.limit_s) for seat, name in zip(game.agents, names, strict=True)}
            plans.append(EpisodePlan(one.name, make, sitting, one.seed, about))
        return plans


def _sitting(game: Deduction, match: SeatAssignment) -> tuple[str, ...]:
    """By seat who sits there; a team's seats are those to whose roles it belongs when they are dealt."""
    if not isinstance(match.seats, Mapping):
        return match.seats
    game.reset(match.seed)
    return tuple(match.seats[game.teams[role]] for role in game.deal[: len(game.agents)])
