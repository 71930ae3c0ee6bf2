"""Credit for each of the policy's turns in a live episode, by playing its states on with a script.

What an episode's turns are paid sums to what its outcome pays, less what its start is worth without any of them::

    expected-utility   credit_t = V(s_t+1) - V(s_t),  V(s_n) = what the outcome pays
    savoir             credit_t = Shapley value of turn t,  v(all n turns) = what the outcome pays

V(s) is the mean outcome of J plays from a state on, in which a script has every seat. No act changes the state that it
was chosen in, so the return from turn t on is the outcome less a baseline, and with gamma = 1 the gradient is the
outcome's, whoever plays on (potential-based shaping: Ng et al., 1999, section 3; by rollouts: Kazemnejad et al., 2024,
VinePPO). Shapley values (SAVOIR, Eq. 1 to 4) share the outcome out; a turn's share rests on later turns, too, so that
they aim elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any, Literal

from pydantic import Field

from apportion.decompose.shapley.values import default_budget
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Environment
from apportion.environments.episode_restorer import TerminalState
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.model_hub.names import FETCHED
from apportion.rlhf.policy_settings import OutcomeWeight

EXPECTED, SAVOIR = "expected-utility", "savoir"
NO_SCRIPTS = ("policy", "recorded", *FETCHED)
"""Agents that ask no language model at a server and are no scripts: plays by a model on this machine take hours."""


class CreditSettings(OutcomeWeight):
    """What `reward = "credit"` takes."""

    by: Literal["expected-utility", "savoir"] = Field(
        default="expected-utility",
        description="expected-utility: what playing on is worth after a turn, less before it; savoir: Shapley values",
    )
    player: str | None = Field(
        default=None,
        pattern="^[^@]+$",
        description="the script that plays on in every seat; none takes environment_settings.other, which is one then",
    )
    rollouts: int = Field(default=2, ge=1, le=1000, description="J: plays of each state or history; 1 where none draws")
    budget: int | None = Field(
        default=None,
        ge=4,
        description="savoir: histories an episode, at most; none is min(12n + 2, 200) for n turns, 2^n are exact",
    )

    def player_in(self, played: Any) -> str:
        """The name of who plays on in what is ``played`` (`apportion.rlhf.sampling.starts.Starts`).

        Raises InputError: an environment that a package brings, no script, or turns that ``savoir`` cannot credit.
        """
        if not hasattr(played, "AGENTS"):
            raise InputError(
                "reward = 'credit' plays on in environments of ours; take reward = 'outcome' in a package's"
            )
        if self.by == SAVOIR and not played.ALL_HEARD:
            raise InputError(
                f"reward_settings.by = {SAVOIR!r} leaves out what is said, and votes and acts of the night would stay; "
                f"where roles are hidden take {EXPECTED!r}"
            )
        if self.by == EXPECTED and self.budget is not None:
            raise InputError(
                f"reward_settings.budget is for by = {SAVOIR!r}; {EXPECTED} plays n + 1 states; take it out"
            )
        most = played.acts_of_others  # Of two who take turns, as many as one's own.
        budget, least = self.budget or default_budget(most), min(2**most, 2 * most + 2)
        if self.by == SAVOIR and budget < least:
            raise InputError(
                f"reward_settings.budget = {budget} does not tell {most} turns apart, which takes {least} histories; "
                "raise it, or lower environment_settings.most_acts"
            )
        name: str = self.player or played.other
        names, others = played.AGENTS.registry.names(), [*NO_SCRIPTS]
        others += [one.partition("@")[0] for one in played.AGENTS.made_of]
        kind = name.partition("@")[0]
        if kind not in names or kind in NO_SCRIPTS or name in others:
            raise InputError(
                f"reward = 'credit' is played on by a script, and {name!r} is none: set reward_settings.player to one "
                f"of {', '.join(one for one in names if one not in others)}, or take reward = 'outcome'"
            )
        return name


@dataclass
class LiveCredit:
    """What each turn of an episode has brought, in units of the outcome.

    ``player``: has every seat once playing on begins. ``dimension``: of the outcome, what is watched. A state is played
    on once, however many episodes of a batch have gone through it (`forget`).
    """

    settings: CreditSettings
    player: Agent
    dimension: str
    _known: dict[tuple[str, ...], float] = field(default_factory=dict)

    def forget(self) -> None:
        """Begin another batch."""
        self._known.clear()

    def __call__(
        self, start: str, agent: str, states: Sequence[Environment], said: Sequence[str], score: float
    ) -> tuple[float, ...]:
        """The credits of ``agent``'s n turns, which sum to ``score`` less what the start is worth.

        ``states``: before each of its turns, and after the last (n + 1 of them); ``said``: the turns; ``score``: what
        the outcome pays.

        Raises UnitError: the rules do not say what an end is worth, or a history cannot be played on.
        """
        if self.settings.by == SAVOIR:
            return self._shapley(start, agent, states[-1], score)
        worths = [self._worth((start, *said[:number]), agent, state) for number, state in enumerate(states[:-1])]
        worths.append(score)
        return tuple(after - before for before, after in pairwise(worths))

    def _worth(self, place: tuple[str, ...], agent: str, state: Environment) -> float:
        """The mean outcome of plays from ``state`` on; play j of every state of a start draws by the same seed."""
        if place not in self._known:
            self._known[place] = sum(
                self._played_on(state, agent, Random(f"{place[0]}/{number}").getrandbits(31))
                for number in range(self.settings.rollouts)
            ) / self.settings.rollouts  # fmt: skip
        return self._known[place]

    def _played_on(self, state: Environment, agent: str, seed: int) -> float:
        game = state.clone()
        game.reseed(seed)
        play(game, dict.fromkeys(game.agents, self.player))
        value = self._utility.of(TerminalState(game.outcome()[agent]))
        if value is None:
            raise UnitError(
                f"reward = 'credit': the rules of {game.kind} do not say {self.dimension} of an episode that is "
                "played on. Choose tasks that they can check (environment_settings.task_set = 'checkable')."
            )
        return value

    def _shapley(self, start: str, agent: str, ended: Environment, score: float) -> tuple[float, ...]:
        """Of the turns that are heard; acts that nobody hears follow from them, and are done anew without them."""
        from apportion.decompose.shapley.value_function import BatchedValueFunction
        from apportion.decompose.shapley.values import InsufficientBudgetError, shapley_values

        begun = ended.clone()
        begun.reset(ended.seed)
        restored = RestoredEpisode(start, begun, tuple(ended.steps), dict.fromkeys(ended.agents, self.player))
        turns = restored.turns_of(agent)
        rollouts = Rollouts(restored, agent, turns, self._utility, rollouts=self.settings.rollouts, seed=start)

        def worth(coalitions: Sequence[frozenset[int]]) -> list[list[float]]:
            whole = [score] * self.settings.rollouts  # Of one that was cut, or held too much that is no act, too.
            return [whole if len(one) == len(turns) else rollouts.played_on(one) for one in coalitions]

        try:
            found = shapley_values(BatchedValueFunction(worth), len(turns), budget=self.settings.budget)
        except InsufficientBudgetError as error:
            raise UnitError(f"{start}: {error} Raise align.reward_settings.budget.") from None
        by_step = dict(zip((restored.places[turn].step for turn in turns), found.values.tolist(), strict=True))
        acts = [number for number, moves in enumerate(ended.steps) if any(move.agent == agent for move in moves)]
        return tuple(by_step.get(step, 0.0) for step in acts)

    @property
    def _utility(self) -> RolloutUtility:
        return RolloutUtility({self.dimension: 1.0})
