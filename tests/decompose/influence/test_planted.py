"""Where some utterances decide what is said next and others do not, influence tells which."""

import random

import numpy as np
import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose import DecomposeSettings
from apportion.decompose.influence.judge import judge
from apportion.rlhf.language_model_finetune import CorpusModelSettings, train_corpus_model

COLOURS = ("red", "blue", "green", "white")
FILLERS = ("Hm, let me see.", "One moment, please.")


def played(number):
    """A session in which half of the target's utterances name the colour of the reply, and the truth of each turn."""
    chance = random.Random(number)
    said, decided = [("user", "Which colours are there?")], {}
    for _ in range(5):
        colour, decides = chance.choice(COLOURS), chance.random() < 0.5
        decided[len(said)] = decides
        said.append(("shop", f"We have it in {colour} today." if decides else chance.choice(FILLERS)))
        said.append(("user", f"Then I take {colour}."))
    turns = tuple(Turn(turn, who, text) for turn, (who, text) in enumerate(said))
    return Session(f"s{number}", turns, (Rating("user", "shop", "help", 5.0, 1.0, 5.0),)), decided


def told_apart(folder, **chosen):
    """How often an utterance that decides has a larger value than one that does not, and the mean of either."""
    settings = DecomposeSettings(method="influence", influence={"model": folder, **chosen})
    deciding, idle = [], []
    for number in range(1000, 1015):
        session, decided = played(number)
        (episode,) = session.episodes()
        for one in judge(episode, None, settings, None):
            (deciding if decided[one.turn] else idle).append(one.value)
    assert len(deciding) > 25 and len(idle) > 25
    return np.mean(np.array(deciding)[:, None] > np.array(idle)[None]), np.mean(deciding), np.mean(idle)


@pytest.mark.slow
def test_what_decides_the_reply_is_told_from_what_does_not(folder):
    apart, deciding, idle = told_apart(folder)
    assert apart > 0.97 and deciding > 3 and abs(idle) < 0.2 * deciding
    exchanged, *_ = told_apart(folder, baseline="others")
    assert exchanged > 0.95
    # A reply alone: whatever makes any reply likelier than silence does counts then, too.
    alone, *_ = told_apart(folder, negatives=0)
    assert alone < 0.8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    settings = CorpusModelSettings(steps=300, hidden=64, layers=2, vocabulary=400, tokens=192)
    train_corpus_model([played(number)[0] for number in range(80)], path, settings)
    return str(path)
