"""A network at play beside the same network that reads every dialogue again."""

import numpy as np
import pytest
import torch

from apportion.environments.negotiation.vectorized.engine import NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model import player as module
from apportion.rlhf.negotiation.model.network import read, split_scores, taken_scores
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.rng import chances
from apportion.rlhf.negotiation.self_play import Played, play, seen, settled_split
from tests.rlhf.negotiation.small import tables, weights

SEEDS = (0, 1, 2)


def played(temperature: float, count: int, lasting: bool = False) -> Played:
    games = tables(drawn_contexts(count, "players"), SEEDS)
    alice, bob = (NetworkPlayer(weights(seeds), temperature, lasting) for seeds in (SEEDS, (5, 6, 7)))
    return play(games, len(SEEDS), (alice, bob), chances(SEEDS, count, 20, "players"))


@torch.no_grad()
def taken_by_reading(played: Played) -> np.ndarray:
    sides = []
    for seat, seeds in enumerate((SEEDS, (5, 6, 7))):
        dialogues = seen(played.games, seat).chosen(np.arange(len(played.games)).reshape(len(SEEDS), -1))
        model = weights(seeds)
        heads = taken_scores(model, read(model, dialogues), torch.from_numpy(dialogues.lengths))
        best = split_scores(heads, torch.from_numpy(dialogues.counts)).argmax(-1).numpy().ravel()
        said = settled_split(played.games, seat)
        sides.append(np.where(said == NO_ACT, best, said))
    return np.stack(sides, axis=1)


@pytest.mark.parametrize(("count", "lasting"), [(70, False), (20, False), (20, True)])
def test_what_is_taken_is_what_reading_again_gives(count: int, lasting: bool) -> None:
    found = played(1.0, count, lasting)
    assert len(np.unique(found.games.lengths)) > 3, "games of several lengths, so that columns are left out"
    assert (settled_split(found.games, 0) == NO_ACT).any()
    assert (found.taken == taken_by_reading(found)).all()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_tables_change_no_act(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    by_tables = played(temperature, 70)
    monkeypatch.setattr(module, "TABLE_FROM", 1000)
    plain, lasting = played(temperature, 70), played(temperature, 70, lasting=True)
    for other in (plain, lasting):
        assert (by_tables.games.acts == other.games.acts).all() and (by_tables.taken == other.taken).all()


def test_a_lasting_player_makes_its_tables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    whole = module.Tables.of
    monkeypatch.setattr(module.Tables, "of", lambda model: made.append(1) or whole(model))
    player = NetworkPlayer(weights(SEEDS), 1.0, lasting=True)
    for _ in range(3):
        player.begin(tables(drawn_contexts(2, "players"), SEEDS), 1)
    assert len(made) == 1


def test_another_s_values_change_no_byte_of_what_a_network_makes_of_a_game() -> None:
    """The same is said in both games, which differ in what things are worth to Bob alone."""
    acts = played(1.0, 20).games.acts
    alike = [tables(drawn_contexts(20, "players"), SEEDS) for _ in range(2)]
    values = alike[1].pools.values
    values[:, 1] = values[:, 1, ::-1]
    assert (values != alike[0].pools.values).any()
    noted = [noted_by_alice(games, acts) for games in alike]
    assert len(noted[0]) > 3 and noted[0] == noted[1]


def noted_by_alice(games: VectorizedGames, acts: np.ndarray) -> list[tuple[bytes, bytes]]:
    """Her choices where she has one, and her states, at every act."""
    noted: list[tuple[bytes, bytes]] = []

    class Noting(NetworkPlayer):
        def choose(self, rows: np.ndarray, legal: np.ndarray, draws: np.ndarray) -> np.ndarray:
            chosen = super().choose(rows, legal, draws)
            own = self.games.speakers[rows.ravel()].reshape(rows.shape) == self.seat
            noted.append((np.where(own, chosen, NO_ACT).tobytes(), self._state.numpy().tobytes()))
            return chosen

    players = Noting(weights(SEEDS), 1.0), NetworkPlayer(weights((5, 6, 7)), 1.0)
    play(games, len(SEEDS), players, chances(SEEDS, 20, 20, "players"), said=acts)
    return noted
