"""A network at play beside the same network that reads every dialogue again."""

import numpy as np
import pytest
import torch

from environments.negotiation.batched.engine import NO_ACT
from rlhf.negotiation.chance import chances
from rlhf.negotiation.material import drawn_contexts
from rlhf.negotiation.model import player as module
from rlhf.negotiation.model.network import read, split_scores, taken_scores
from rlhf.negotiation.model.player import NetworkPlayer
from rlhf.negotiation.playing import Played, play, seen, settled_split
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
