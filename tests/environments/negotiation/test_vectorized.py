import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.collect_episodes import play as play_one
from apportion.environments.negotiation.action_encoding import ACTS, AGREE, DISAGREE, END, SPLITS, act_of, split_code
from apportion.environments.negotiation.contexts import Context, draw_context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.pareto import solve
from apportion.environments.negotiation.rules import Game
from apportion.environments.negotiation.scripts import SCRIPTS
from apportion.environments.negotiation.vectorized import BatchError, ParetoOptima, Pools, ScriptPlayer, VectorizedGames
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.self_play import play

CONTEXT = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))


def drawn(count: int, seed: int) -> list[Context]:
    draws = random.Random(seed)
    return [draw_context(draws) for _ in range(count)]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), most_acts=st.integers(1, 20), talk=st.floats(0, 1))
def test_batched_games_equal_single_ones_act_by_act(seed: int, most_acts: int, talk: float) -> None:
    contexts, rng = drawn(12, seed), np.random.default_rng(seed)
    starters = rng.integers(0, 2, len(contexts))
    batched = VectorizedGames(Pools.of(contexts), starters, most_acts)
    single = [Game(context, int(starter), most_acts) for context, starter in zip(contexts, starters, strict=True)]
    while not batched.over.all():
        legal = batched.legal()
        for game, row in zip(single, legal, strict=True):
            assert tuple(np.flatnonzero(row)) == game.legal()
        acts = np.full(len(single), 7)
        for place, game in enumerate(single):
            if not game.over:
                words = [act for act in game.legal() if act >= AGREE]
                acts[place] = rng.choice(words if words and rng.random() < talk else game.legal())
                assert batched.speakers[place] == game.seat
                game.do(int(acts[place]))
        batched.do(acts)
        assert batched.standing.tolist() == [game.standing for game in single]
        assert batched.settled.tolist() == [game.settled for game in single]
        assert batched.over.tolist() == [game.over for game in single]
    for seat in (0, 1):
        assert batched.meant(seat).tolist() == [-1 if (deal := game.meant(seat)) is None else deal for game in single]
    taken = np.array([rng.choice(np.flatnonzero(row), 2) for row in batched.pools.fitting()])
    agree = rng.random(len(single)) < 0.5
    taken[agree, 1] = batched.all_of_it[agree] - taken[agree, 0]
    for game, pair in zip(single, taken, strict=True):
        for seat in (0, 1):
            game.select(seat, int(pair[seat]))
    assert batched.points(taken).tolist() == [list(game.points) for game in single]
    assert [list(row[: len(game.acts)]) for row, game in zip(batched.acts, single, strict=True)] == [
        game.acts for game in single
    ]


@pytest.mark.parametrize("act", [-1, ACTS, AGREE, DISAGREE, END, split_code((2, 0, 0)), SPLITS + split_code((1, 0, 0))])
def test_an_act_that_is_not_allowed_is_named_and_nothing_is_done(act: int) -> None:
    games = VectorizedGames(Pools.of([CONTEXT, CONTEXT]), np.array([0, 1]))
    with pytest.raises(BatchError, match=rf"game 1, act 0: {act} is not allowed"):
        games.do(np.array([split_code((1, 0, 0)), act]))
    assert games.lengths.tolist() == [0, 0]


def test_nothing_is_taken_before_the_end_nor_off_the_pool() -> None:
    games = VectorizedGames(Pools.of([CONTEXT]), np.array([0]))
    with pytest.raises(BatchError, match="not over after 0 acts"):
        games.points(np.array([[0, 0]]))
    games.do(np.array([0]))
    games.do(np.array([END]))
    with pytest.raises(BatchError, match=r"seat 1 takes 124, which is no split"):
        games.points(np.array([[0, 124]]))
    with pytest.raises(BatchError, match=r"seat 0 takes -1, which is no split"):
        games.points(np.array([[-1, 0]]))


def test_what_deals_could_have_come_to_is_the_solvers() -> None:
    contexts = drawn(20, 3)
    optima = ParetoOptima.of(contexts)
    for row, context in enumerate(contexts):
        assert tuple(np.flatnonzero(optima.pareto[row])) == tuple(sorted(solve(context).front))
        assert optima.joint[row] == solve(context).joint


@pytest.mark.parametrize("other", SCRIPTS)
@pytest.mark.parametrize("one", [name for name in SCRIPTS if name != "random"])
def test_a_script_plays_many_games_as_it_plays_one(one: str, other: str) -> None:
    contexts, single = drawn(8, 5), []
    for seed, context in enumerate(contexts):
        episode = Negotiation(context)
        episode.reset(seed)
        play_one(episode, dict(zip(episode.agents, (SCRIPTS[one](), SCRIPTS[other]()), strict=True)))
        single.append(episode.game)
    games = VectorizedGames(Pools.of(contexts), np.array([(game.seat + len(game.acts)) % 2 for game in single]))
    said = np.array([[*game.acts, *[-1] * (20 - len(game.acts))] for game in single]) if other == "random" else None
    if said is not None:
        for turn in range(20):
            said[games.starters == turn % 2, turn] = -1  # Only the other's acts, who draws, are given.
    played = play(games, 1, (ScriptPlayer(one), ScriptPlayer(other)), np.zeros((8, 20)), said=said)
    assert [[act for act in row if act >= 0] for row in games.acts.tolist()] == [game.acts for game in single]
    assert played.taken.tolist() == [game.taken for game in single]
    assert games.points(played.taken).tolist() == [list(game.points) for game in single]


def test_the_one_that_draws_draws_every_legal_kind_and_split_alike() -> None:
    count = 4000
    games = VectorizedGames(Pools.of([CONTEXT] * count), np.zeros(count, dtype=np.int64))
    games.do(np.full(count, 25))
    script = ScriptPlayer("random")
    script.begin(games, 1)
    acts = script.choose(games.legal(), np.random.default_rng(0).random(count))
    assert games.legal()[np.arange(count), acts].all()
    kinds = Counter(act_of(int(act))[0] for act in acts)
    assert all(abs(kinds[kind] - count / 5) < 5 * (count * 0.16) ** 0.5 for kind in kinds) and len(kinds) == 5
    assert len({int(act) for act in acts if act < SPLITS}) == 16


def test_there_is_no_other_script() -> None:
    with pytest.raises(InputError, match="no script 'conceeding'; did you mean 'conceding'"):
        ScriptPlayer("conceeding")
