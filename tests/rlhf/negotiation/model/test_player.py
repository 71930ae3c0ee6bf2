"""A network at play beside the same network that reads every dialogue whole."""

import numpy as np
import torch

from apportion.environments.negotiation.vectorized import NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model.network import act_logits, encode
from apportion.rlhf.negotiation.model.player import NetworkPlayer, draw_acts
from apportion.rlhf.negotiation.rng import chances
from apportion.rlhf.negotiation.self_play import play, seen, settled_split
from tests.rlhf.negotiation.small import tables, weights

SEEDS, OTHERS, COUNT = (0, 1, 2), (5, 6, 7), 20


class Recording(NetworkPlayer):
    """Keeps its choices where it has one, and its states, at every act."""

    def choose(self, legal: np.ndarray, draws: np.ndarray) -> np.ndarray:
        chosen = super().choose(legal, draws)
        own = (self.games.speakers == self.seat) & ~self.games.over
        self.noted = [*getattr(self, "noted", []), (np.where(own, chosen, NO_ACT), self._states[-1].clone())]
        return chosen


def test_acts_are_those_of_who_reads_the_whole_dialogue() -> None:
    games = tables(drawn_contexts(COUNT, "players"), SEEDS)
    draws = chances(SEEDS, COUNT, 20, "players")
    players = Recording(weights(SEEDS), 1.0), Recording(weights(OTHERS), 1.0)
    play(games, len(SEEDS), players, draws)
    assert len(np.unique(games.lengths)) > 3 and (settled_split(games, 0) == NO_ACT).any()
    legal = torch.from_numpy(games.replayed(games.acts)[1])
    for seat, player in enumerate(players):
        encoding = encode(player.weights, seen(games, seat).by_seed(len(SEEDS)))
        logits = act_logits(player.weights, encoding.table, encoding.states).flatten(0, 1)
        for turn, (chosen, _) in enumerate(player.noted):
            whole = draw_acts(logits[:, turn], legal[:, turn], 1.0, draws[:, turn])
            assert (chosen == np.where(chosen >= 0, whole, NO_ACT)).all()
            assert (games.acts[chosen >= 0, turn] == chosen[chosen >= 0]).all()


def test_an_act_without_a_chance_is_never_drawn() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        scores = np.full((1, 253), -200, dtype=np.float32)
        likely = rng.permutation(253)[:5]
        scores[0, likely] = rng.normal(size=5)
        allowed = torch.ones(1, 253, dtype=torch.bool)
        assert draw_acts(torch.from_numpy(scores), allowed, 0.5, np.array([1 - 2.0**-53]))[0] in likely


def test_another_s_values_change_no_byte_of_what_a_network_makes_of_a_game() -> None:
    """The same is said in both games, which differ in what things are worth to Bob alone."""
    first = tables(drawn_contexts(COUNT, "players"), SEEDS)
    play(first, len(SEEDS), (NetworkPlayer(weights(SEEDS), 1.0), NetworkPlayer(weights(OTHERS), 1.0)), draws())
    alike = [tables(drawn_contexts(COUNT, "players"), SEEDS) for _ in range(2)]
    values = alike[1].pools.values
    values[:, 1] = values[:, 1, ::-1]
    assert (values != alike[0].pools.values).any()
    noted = [noted_by_alice(games, first.acts) for games in alike]
    assert len(noted[0]) > 3 and noted[0] == noted[1]


def draws() -> np.ndarray:
    return chances(SEEDS, COUNT, 20, "players")


def noted_by_alice(games: VectorizedGames, acts: np.ndarray) -> list[tuple[bytes, bytes]]:
    alice = Recording(weights(SEEDS), 1.0)
    play(games, len(SEEDS), (alice, NetworkPlayer(weights(OTHERS), 1.0)), draws(), said=acts)
    return [(chosen.tobytes(), state.numpy().tobytes()) for chosen, state in alice.noted]
