import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.negotiation.action_encoding import (
    ACTS,
    AGREE,
    DISAGREE,
    END,
    INSIST,
    CodeError,
    act_of,
    rest,
    split_code,
)
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.rules import Game, RuleError, legal_acts
from apportion.foundation.errors import InputError
from tests.environments.negotiation.strategies import games

CONTEXT = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))
ONE, TWO = split_code((1, 1, 0)), split_code((0, 2, 1))


def played(*acts: int, starter: int = 0) -> Game:
    game = Game(CONTEXT, starter)
    for act in acts:
        game.do(act)
    return game


def kinds_by_definition(game: Game) -> set[str]:
    """The table at the head of rules.py, from the acts alone."""
    acts = [act_of(act)[0] for act in game.acts]
    if not acts:
        return {"propose"}
    allowed = {"propose", "insist", "disagree", "end"}
    last = max(number for number, kind in enumerate(acts) if kind in ("propose", "insist"))
    settled = False
    for kind in acts[last + 1 :]:
        settled = kind == "agree" or (settled and kind != "disagree")
    others = (len(acts) - last) % 2 == 1  # seats alternate: made by whoever acted last, or three acts ago, …
    return allowed | ({"agree"} if others or settled else set())


@given(games())
def test_what_is_legal_is_what_the_table_says(game: Game) -> None:
    if game.over:
        assert game.legal() == () == game.kinds()
        return
    assert set(game.kinds()) == kinds_by_definition(game)
    legal = [
        act
        for act in range(ACTS)
        if act_of(act)[0] in game.kinds()
        and all(k <= n for k, n in zip(act_of(act)[1] or (0, 0, 0), game.context.counts, strict=True))
    ]
    assert list(game.legal()) == legal == [act for act in range(ACTS) if game.allows(act)]


@given(games(), st.data())
def test_an_act_that_is_not_legal_changes_nothing(game: Game, data: st.DataObject) -> None:
    act = data.draw(st.integers(-2, ACTS + 2).filter(lambda act: not game.allows(act)))
    before = [getattr(game, name) for name in ("seat", "phase", "standing", "by", "settled", "over")]
    acts = game.acts.copy()
    with pytest.raises((RuleError, CodeError), match="act"):
        game.do(act)
    assert game.acts == acts
    assert before == [getattr(game, name) for name in ("seat", "phase", "standing", "by", "settled", "over")]


@given(games(most_acts=6), st.data())
def test_points_are_for_selections_that_add_up(game: Game, data: st.DataObject) -> None:
    while not game.over:
        game.do(DISAGREE if DISAGREE in game.legal() else game.legal()[0])
    splits = legal_acts(game.context.counts)[0]
    taken = [data.draw(st.sampled_from(splits)) for _ in range(2)]
    if data.draw(st.booleans()):
        taken[1] = rest(game.context.counts, taken[0])
    for seat in data.draw(st.permutations([0, 1])):
        assert game.points == (0, 0)
        game.select(seat, taken[seat])
    assert game.done
    kept = [act_of(split)[1] or () for split in taken]
    adds_up = tuple(a + b for a, b in zip(*kept, strict=True)) == game.context.counts
    worth = [sum(k * v for k, v in zip(kept[s], game.context.values[s], strict=True)) for s in (0, 1)]
    assert game.agreed == adds_up
    assert game.points == (tuple(worth) if adds_up else (0, 0))


def test_what_was_meant_is_what_was_settled_or_ended_on() -> None:
    left = rest(CONTEXT.counts, ONE)
    assert played(ONE, AGREE, END).meant(0) == ONE
    assert played(ONE, AGREE, END).meant(1) == left
    assert played(ONE, END).meant(1) == left
    assert played(ONE, DISAGREE, END).meant(1) is None
    assert played(ONE, AGREE, DISAGREE, END).meant(0) is None
    assert played(ONE, DISAGREE, DISAGREE, AGREE, END).meant(0) == ONE
    assert played(ONE, AGREE, INSIST + TWO, END).meant(0) == TWO


def test_agreement_before_any_proposal_is_no_act() -> None:
    with pytest.raises(RuleError, match="act 0: seat 1 may not agree: nothing is proposed yet; allowed: propose"):
        Game(CONTEXT, 1).do(AGREE)
    with pytest.raises(RuleError, match="act 0: seat 1 may not insist"):
        Game(CONTEXT, 1).do(INSIST + ONE)


def test_one_s_own_refused_proposal_cannot_be_agreed_to() -> None:
    with pytest.raises(RuleError, match="act 2: seat 0 may not agree: the other has refused the standing proposal"):
        played(ONE, DISAGREE, AGREE)


def test_nobody_keeps_more_than_there_is() -> None:
    with pytest.raises(RuleError, match=r"act 0: seat 0 keeps \(2, 0, 0\) of \(1, 3, 1\)"):
        played(split_code((2, 0, 0)))


def test_a_selection_off_the_pool_is_refused() -> None:
    game = played(ONE, END)
    for split, told in ((split_code((2, 0, 0)), r"takes \(2, 0, 0\) of \(1, 3, 1\)"), (125, "takes 125"), (-1, "-1")):
        with pytest.raises(RuleError, match=told):
            game.select(0, split)
    game.select(0, ONE)
    with pytest.raises(RuleError, match="selects twice"):
        game.select(0, ONE)
    with pytest.raises(RuleError, match="it is not over yet"):
        played(ONE).select(0, ONE)


def test_a_game_has_a_starter_and_an_act() -> None:
    for starter, most in ((2, 20), (0, 0)):
        with pytest.raises(InputError, match=f"starter = {starter}, most_acts = {most}"):
            Game(CONTEXT, starter, most)
