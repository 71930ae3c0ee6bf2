import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.negotiation.action_encoding import AGREE, END, INSIST, act_code, split_code
from apportion.environments.negotiation.contexts import contexts_of, pools
from apportion.environments.negotiation.expert_queries.question import Question
from apportion.environments.negotiation.rules import Game
from apportion.foundation.errors import UnitError

POOL, VALUES = (1, 3, 1), (3, 2, 1)
PROPOSED = act_code("propose", (1, 2, 0))


@given(st.data())
def test_any_place_of_any_game_is_a_question_that_can_be_written_down(data):
    context = data.draw(st.sampled_from(contexts_of(data.draw(st.sampled_from(pools())))))
    game = Game(context, data.draw(st.integers(0, 1)))
    for _ in range(data.draw(st.integers(0, 8))):
        if not game.over:
            game.do(data.draw(st.sampled_from(game.legal())))
    seat = game.seat
    starter = (seat + len(game.acts)) % 2
    question = Question(context.counts, context.values[seat], seat, starter, tuple(game.acts))
    again = Question.of(question.record())
    assert again == question and again.name == question.name and again.game.acts == game.acts
    assert question.context.values[seat] == context.values[seat] and question.game.over == game.over
    allowed = game.legal() or (split_code(context.counts),)
    assert all(question.problem(answer) is None for answer in allowed)


def test_what_is_no_answer():
    question = Question(POOL, VALUES, 1, 0, (PROPOSED,))
    assert "no item more than there is" in question.problem(INSIST + split_code((2, 0, 0)))
    assert question.problem(AGREE) is None
    over = Question(POOL, VALUES, 1, 0, (PROPOSED, END))
    assert over.game.over and over.problem(split_code((0, 1, 1))) is None
    assert "(2, 0, 0) of (1, 3, 1)" in over.problem(split_code((2, 0, 0))) and "500 of" in over.problem(500)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: Question(POOL, VALUES, 2, 0), "they are 0 or 1"),
        (lambda: Question(POOL, VALUES, 1, 0), "the turn of seat 0, not of 1"),
        (lambda: Question(POOL, (3, 2, 2), 0, 0), "no game is about"),
        (lambda: Question((9, 3, 1), VALUES, 0, 0), "no game is about"),
        (lambda: Question(POOL, VALUES, 1, 0, (AGREE,)), "nothing is proposed yet"),
        (lambda: Question.of({"counts": [1, 3]}), "no question: "),
        (lambda: Question.of({**Question(POOL, VALUES, 0, 0).record(), "counts": [1, 3]}), "no question: ValueError"),
    ],
)
def test_what_is_no_question(made, why):
    with pytest.raises(UnitError, match=why):
        made()
