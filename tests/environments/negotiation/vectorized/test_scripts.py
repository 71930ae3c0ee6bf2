import random
from collections import Counter

import numpy as np
import pytest

from apportion.environments.collect_episodes import play
from apportion.environments.negotiation.action_encoding import act_of
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import Context, draw_context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.rules import Game
from apportion.environments.negotiation.vectorized.engine import Pools, VectorizedGames
from apportion.environments.negotiation.vectorized.scripts import NAMES, RANDOM, WANTED, Drawing, play_scripts, seated
from apportion.foundation.errors import InputError

PAIRS = [(one, other) for one in WANTED for other in WANTED]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_batched_scripts_play_the_games_of_the_single_ones(one: str, other: str) -> None:
    draws = random.Random(f"{one}/{other}")
    contexts = [draw_context(draws) for _ in range(8)]
    single = []
    for seed, context in enumerate(contexts):
        episode = Negotiation(context)
        episode.reset(seed)
        play(episode, dict(zip(episode.agents, (ROSTER.scripted(one), ROSTER.scripted(other)), strict=True)))
        single.append(episode.game)
    starters = np.array([_starter(game) for game in single])
    batched = VectorizedGames(Pools.of(contexts), starters)
    taken = play_scripts(batched, (one, other), np.zeros((len(contexts), 20)))
    assert [[act for act in row if act >= 0] for row in batched.acts.tolist()] == [game.acts for game in single]
    assert taken.tolist() == [game.taken for game in single]
    assert batched.points(taken).tolist() == [list(game.points) for game in single]


def _starter(game: Game) -> int:
    """Who began: whose turn it is, or would be, less the acts."""
    return (game.seat + len(game.acts)) % 2


def test_the_one_that_draws_draws_every_legal_kind_and_split_alike() -> None:
    context = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))
    count = 4000
    games = VectorizedGames(Pools.of([context] * count), np.zeros(count, dtype=np.int64))
    games.do(np.full(count, 25))
    script = seated(RANDOM, games, 1)
    assert isinstance(script, Drawing)
    acts = script.acts(np.arange(count), np.random.default_rng(0).random(count))
    assert games.legal()[np.arange(count), acts].all()
    kinds = Counter(act_of(int(act))[0] for act in acts)
    assert all(abs(kinds[kind] - count / 5) < 5 * (count * 0.16) ** 0.5 for kind in kinds) and len(kinds) == 5
    splits = Counter(int(act) for act in acts if act < 125)
    assert len(splits) == 16


def test_there_is_no_other_script() -> None:
    games = VectorizedGames(Pools.of([Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))]), np.array([0]))
    with pytest.raises(InputError, match="no script 'conceeding'; did you mean 'conceding'"):
        seated("conceeding", games, 0)
    assert set(NAMES) == {*WANTED, RANDOM}
