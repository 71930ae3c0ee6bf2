"""One seat of any environment of ours as Gymnasium's; agents have the others. The extra `pettingzoo` brings both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.environments.actions import Action
from apportion.environments.wrappers.aec import ActionSpace, check_action, observations, observed
from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.foundation.errors import InputError

try:
    import gymnasium
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'apportion[pettingzoo]'`.") from None


class SinglePlayer(gymnasium.Env):  # type: ignore[misc]
    """One seat of an episode.

    Observations, actions and what becomes of those that the rules do not allow are as of
    `apportion.environments.wrappers.aec.AEC`. The reward comes at the end, 0 where it is not known;
    ``info`` has `SeatedEpisode.ending` then.

    ``episode``: What is played with whom, as `WorldTasks.seated` makes it; belongs to this object from here on. Raises
    InputError: its environments have other kinds of acts than each other.

    >>> from apportion.environments.wrappers.world_tasks import world_tasks
    >>> env = SinglePlayer(world_tasks("negotiation").seated(("fair",)))
    >>> env.reset(seed=1, options={"task": 3, "seat": 0})[0]["action_mask"].tolist()
    [1, 1, 1, 1, 1, 0]
    """

    metadata: Mapping[str, Any] = {"render_modes": []}

    def __init__(self, episode: SeatedEpisode) -> None:
        first = episode.environments[0]
        for one in episode.environments:
            if one.kinds != first.kinds:
                raise InputError(f"{one.kind} has other kinds of acts than {first.kind}; give each an environment")
        self.episode = episode
        self.observation_space, self.action_space = observations(first.kinds), ActionSpace(first.kinds)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode; ``options`` may name ``task`` and ``seat``, which are drawn otherwise."""
        super().reset(seed=seed)
        chosen, environments = options or {}, self.episode.environments
        drawn = [int(draw) for draw in self.np_random.integers(2**31, size=3)]
        task = chosen.get("task", drawn[0] % len(environments))
        seats = len(environments[task].agents) if 0 <= task < len(environments) else 1
        self.episode.begin(task, (chosen.get("seat", drawn[1] % seats),), drawn[2])
        return self._observed(), {}

    def step(self, action: Mapping[str, Any] | Action) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Do an act, and play on to the seat's next turn. Raises InputError: it is no action, or all is over."""
        problem = self.episode.act(check_action(action))
        info: dict[str, Any] = {} if problem is None else {"problem": problem}
        over = self.episode.asked is None
        (own,) = self.episode.own
        if over:
            info |= self.episode.ending(own)
        return self._observed(), float(info.get("reward") or 0.0), over, False, info

    def _observed(self) -> dict[str, Any]:
        (own,) = self.episode.own
        self.action_space.texts = self.episode.game.examples(own) if self.episode.asked else {}
        return observed(self.episode.game, own)
