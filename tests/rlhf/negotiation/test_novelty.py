import math

import numpy as np
import pytest
import torch

from apportion.environments.negotiation.action_encoding import AGREE, DISAGREE, END, split_code
from apportion.environments.negotiation.vectorized import Pools, VectorizedGames
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.novelty import GameLogprobs, likely, scores
from tests.rlhf.negotiation.small import CONTEXT, weights

FIRST, SECOND = split_code((1, 1, 0)), split_code((0, 2, 1))


def game(acts: list[int]) -> VectorizedGames:
    played = VectorizedGames(Pools.of([CONTEXT]), np.array([0]))
    for act in acts:
        played.do(np.array([act]))
    return played


def model() -> dict[str, torch.Tensor]:
    """Every act has a score of its own, whatever was said."""
    found = {name: torch.zeros_like(weight) for name, weight in weights().items()}
    for act, score in ((FIRST, 2.0), (AGREE, 1.0), (DISAGREE, 3.0)):
        found["act.bias"][0, act] = score
    return found


def test_the_four_scores_by_hand() -> None:
    """Alice opens with FIRST, where only 16 proposals are legal, and ends, where 35 acts are."""
    of = likely(model(), game([FIRST, SECOND, END]), 1)
    opening = 15 + math.exp(2)
    answer = 32 + math.exp(2) - 1 + math.exp(1) + math.exp(3) + 1  # 32 splits, one of them FIRST; and three words.
    first, last = 2 - math.log(opening), -math.log(answer)
    assert of.own[0, 0, :4].tolist() == [True, False, True, False]
    assert of.said[0, 0, [0, 2]] == pytest.approx([first, last], rel=1e-5)

    def entropy(*shares: tuple[int, float]) -> float:
        return -sum(many * share * math.log(share) for many, share in shares)

    at_first = entropy((15, 1 / opening), (1, math.exp(2) / opening))
    at_last = entropy((32, 1 / answer), (1, math.exp(2) / answer), (1, math.exp(1) / answer), (1, math.exp(3) / answer))
    assert of.entropy[0, 0, [0, 2]] == pytest.approx([at_first, at_last], rel=1e-5)
    margins = [(math.exp(2) - 1) / opening, (math.exp(3) - math.exp(2)) / answer]
    assert of.margin[0, 0, [0, 2]] == pytest.approx(margins, rel=1e-5)
    expected = {
        "likelihood": (min(first, last), 2),
        "entropy": (-max(at_first, at_last), 2 if at_last > at_first else 0),
        "margin": (min(margins), 2 if margins[1] < margins[0] else 0),
    }
    for kind, (score, turn) in expected.items():
        found = scores(kind, of, (0,), 1)  # type: ignore[arg-type]
        assert (float(found.score[0, 0]), int(found.turn[0, 0])) == (pytest.approx(score, rel=1e-5), turn), kind
    drawn = scores("random", of, (0,), 1)
    assert 0 <= drawn.score[0, 0] < 1 and drawn.turn[0, 0] in (0, 2)
    assert scores("random", of, (0,), 1).score == drawn.score
    assert scores("random", of, (0,), 2).score != drawn.score


def test_the_most_novel_are_those_with_the_smallest_scores_and_k_is_held_to_what_was_played() -> None:
    said = np.log(np.array([[[0.5, 0.1], [0.9, 0.9], [0.3, 0.2]]]))
    own = np.array([[[True, False], [True, True], [False, True]]])
    found = scores("likelihood", GameLogprobs(said, said, said, own), (0,), 1)
    assert found.turn.tolist() == [[0, 0, 1]]
    assert found.most_novel(2).tolist() == [[2, 0]]
    with pytest.raises(InputError, match=r"acquisition.asked = 4: only 3 of the 3 games"):
        found.most_novel(4)
