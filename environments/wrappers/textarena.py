"""TextArena 0.7 (`textarena` on PyPI) both ways: our worlds as its environments, and its games as ours.

textarena.register("Avalon-ours", "apportion.environments.wrappers.textarena:WorldGame", world="avalon")
game = TextArenaGame("KuhnPoker-v0", players=2)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from threading import RLock
from typing import Any, ClassVar

from apportion.environments.environment import Action, AgentAction, Environment, Step
from apportion.environments.wrappers.world_tasks import world_tasks
from apportion.foundation.errors import InputError

try:
    import textarena as ta
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'textarena>=0.7.4,<0.8'`.") from None

ACT, REWARD = "act", "reward"
_ONE_AT_A_TIME = RLock()  # TextArena draws by Python's own global random numbers.


class WorldGame(ta.Env):  # type: ignore[misc]
    """A world of ours. Each action is an act in words or as the JSON that the first observation explains.

    Players are the first seats, as many as `reset` asks for; ``others``, scripts by name, have the rest. Rewards are
    `SeatedEpisode.reward`, 0 where it is not known.
    """

    def __init__(self, world: str, others: Sequence[str] = ("random",), task: int | None = None) -> None:
        self._episode, self._task = world_tasks(world).seated(others), task

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Begin an episode; the task is drawn where none was named. Raises InputError: there are fewer seats."""
        drawn = random.getrandbits(31) if seed is None else seed
        tasks = len(self._episode.environments)
        task = random.Random(drawn).randrange(tasks) if self._task is None else self._task
        self._episode.begin(task, range(num_players), drawn)
        names = dict(enumerate(self._episode.own))
        self.state = ta.State(num_players)
        self.state.standard_resets({}, lambda player_id, game_state: self._episode.instructions, names)
        self._tell()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Do an act, and play on to where a player is asked."""
        player = self.state.current_player_id
        problem = self._episode.act(action)
        self.state.game_info[player]["turn_count"] += 1
        if problem is not None:
            self.state.step_info = {"problem": problem}
            self.state.add_observation(problem, ta.ObservationType.GAME_ADMIN, to_id=player)
        self._tell()
        done, info = self.state.step()
        return done, info

    def _tell(self) -> None:
        episode, asked = self._episode, self._episode.asked
        if asked is not None:
            self.state.current_player_id = player = episode.own.index(asked)
            if news := episode.news(asked):
                self.state.add_observation(news, ta.ObservationType.GAME_MESSAGE, to_id=player)
            return
        self.state.done = True
        self.state.rewards = {player: episode.reward(name) or 0.0 for player, name in enumerate(episode.own)}
        for player, name in enumerate(episode.own):
            self.state.game_info[player] |= episode.ending(name)
            self.state.game_info[player]["invalid_move"] = name in episode.unusable()


class TextArenaGame(Environment):
    """A game of TextArena that tells its players by `State.observations`, as most do.

    No act is an utterance of a corpus: which of them others hear only the game knows. Who loses by an invalid move has
    the least; the others' reward is not known then, since nobody has beaten them.

    ``name``: As of `textarena.make`. ``players``: How many. ``options``: What else the game takes. Raises InputError:
    there is no such game.
    """

    kind: ClassVar[str] = "textarena"

    def __init__(self, name: str, players: int = 2, **options: Any) -> None:
        try:
            self._game = ta.make(name, **options)
        except ValueError as error:
            raise InputError(f"textarena: {error}") from None
        super().__init__(f"Player {number}" for number in range(players))

    def acting(self) -> tuple[str, ...]:
        """One after the other."""
        return () if self._game.state.done else (self.agents[self._game.state.current_player_id],)

    @property
    def kinds(self) -> tuple[str, ...]:
        """One: whatever the game reads."""
        return (ACT,)

    def legal(self, agent: str) -> tuple[str, ...]:
        """The game itself says what it cannot read."""
        return self.kinds if agent in self.acting() else ()

    def observe(self, agent: str) -> str:
        """All that the game has told a player."""
        return "\n".join(self._told[self.agents.index(agent)])

    def cue(self, agent: str) -> str:
        """The same: nothing is heard."""
        return self.observe(agent)

    def said(self, move: AgentAction) -> str | None:
        """Nothing is heard."""
        return None

    def stand_in(self, agent: str) -> Action:
        """No words, which the game counts as an invalid move."""
        return Action(ACT)

    def outcome(self) -> dict[str, dict[str, float | None]]:
        """By player its reward; None before the end."""
        state = self._game.state
        invalid = [player for player in range(len(self.agents)) if state.game_info[player].get("invalid_move")]
        rewards = state.rewards or {} if state.done else {}
        known = {player: -1.0 if player in invalid else rewards.get(player) for player in invalid or rewards}
        return {
            name: {REWARD: None if (value := known.get(player)) is None else float(value)}
            for player, name in enumerate(self.agents)
        }

    def scales(self) -> dict[str, tuple[float, float]]:
        """Of games that are won or lost."""
        return {REWARD: (-1.0, 1.0)}

    def _begin(self) -> None:
        self._draws = random.Random(f"{self.seed}/textarena").getstate()
        self._told: list[list[str]] = [[] for _ in self.agents]
        with self._drawing():
            self._game.reset(num_players=len(self.agents))
        self._hear()

    def _own(self) -> None:
        self._game, self._told = deepcopy(self._game), [lines.copy() for lines in self._told]

    def _apply(self, moves: Step) -> None:
        ((_, act),) = moves
        with self._drawing():
            self._game.step(act.text)
        self._hear()

    def _hear(self) -> None:
        state = self._game.state
        for player, lines in enumerate(self._told):
            for speaker, text, _ in state.observations[player]:
                lines.append(f"[{state.role_mapping.get(speaker, speaker)}] {text}")
            state.observations[player] = []

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        with _ONE_AT_A_TIME:
            outer = random.getstate()
            random.setstate(self._draws)
            try:
                yield
            finally:
                self._draws = random.getstate()
                random.setstate(outer)
