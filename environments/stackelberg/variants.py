"""Which agent is what in the tables: who is played against, and by what each Refiner was trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from apportion.environments.tournament.team_games.matches import Matches
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Variants:
    """What agents are, by their names in the logs.

    Parameters
    ----------
    against : tuple of str
        Whom agents are held against, team against team: ReAct in the paper. One of each language model, for Figure 5.
        None: whom most others met.
    rewards : mapping of str to str
        By agent the reward of its Refiner (``full``, ``positive-only``, ``negative-only``: Table 2).
    intents : mapping of str to int
        By agent K, the number of desired and of undesired responses (Figure 4).
    instances : mapping of str to int
        By agent how many instances its Refiner was trained on (Figure 10).
    models : mapping of str to str
        By agent the language model behind it (Figure 5).
    """

    against: tuple[str, ...] = ()
    rewards: Mapping[str, str] = field(default_factory=dict)
    intents: Mapping[str, int] = field(default_factory=dict)
    instances: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """Every agent that is named somewhere."""
        return (*self.against, *self.rewards, *self.intents, *self.instances, *self.models)

    def check(self, known: Collection[str]) -> None:
        """Hold the names to those who play.

        Raises
        ------
        InputError
            Nobody is called so.
        """
        for name in self.named:
            if name not in known:
                there = f"there are {', '.join(sorted(known))}" if known else "nobody plays"
                raise InputError(f"nobody plays who is called {name!r}: {did_you_mean(name, sorted(known), there)}")

    def opponent(self, leagues: Sequence[Matches], agent: str | None = None) -> str | None:
        """Whom an agent is held against: of those named that play these games the one with its language model, else
        the first; by default whom most others met, team against team (of equals the first by name). None: nobody met
        another one.
        """
        here = [name for name in self.against if any(name in league.by_teams.agents for league in leagues)]
        if here:
            model = self.models.get(agent or "")
            return next((name for name in here if model is not None and self.models.get(name) == model), here[0])
        met: Counter[str] = Counter()
        for league in leagues:
            pairs = {tuple(match.sole(team) for team in league.teams) for match in league.by_teams.matches}
            met.update(other for pair in pairs for one, other in (pair, pair[::-1]) if other and one != other)
        return min(met, key=lambda name: (-met[name], name), default=None)
