import numpy as np
import pytest

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions
from apportion.decompose.reactions.student import OF_THE_DIALOGUE, PENALTIES, learn_student
from apportion.foundation.errors import InputError

WIDTH = 6


def made_up(dialogues=20, turns=6, seed=0):
    """Replies of which one number of the embedding and one cue tell what they are worth; in the second half of the
    dialogues a cue of the dialogue means the opposite."""
    rng = np.random.default_rng(seed)
    said = tuple(Turn(i, "bot" if i % 2 == 0 else "ann", "words") for i in range(2 * turns))
    episodes = tuple(
        Episode(f"s{i:02d}", said, Rating("ann", "bot", "liking", 3.0, 1.0, 5.0)) for i in range(dialogues)
    )
    n = dialogues * turns
    embeddings, cues = rng.normal(size=(n, WIDTH)), rng.normal(size=(n, len(CUES)))
    worth = embeddings[:, 0] + cues[:, CUES.index("thanks")] + 0.1 * rng.normal(size=n)
    reactions = Reactions(episodes, cues, embeddings, np.ones(n, dtype=bool), np.zeros((n, 0)))
    return reactions, worth, ["one"] * (dialogues // 2) + ["other"] * (dialogues - dialogues // 2)


def test_a_student_finds_what_replies_are_worth_in_the_units_of_a_standard_deviation():
    reactions, worth, sets = made_up()
    student = learn_student(reactions, 7.0 * worth + 3.0, sets)
    columns = np.concatenate([reactions.embeddings, reactions.cues], axis=1)
    values = ((columns - student.centre) / student.scale) @ student.weights
    assert np.corrcoef(values, worth)[0, 1] > 0.95
    assert 0.5 < values.std() < 1.1
    assert student.penalty in PENALTIES and max(student.agreement) > 0.8


def test_what_looks_beyond_the_reply_counts_for_nothing():
    reactions, worth, sets = made_up()
    moved = reactions.cues.copy()
    moved[:, [CUES.index(name) for name in OF_THE_DIALOGUE]] = np.tile(worth[:, None], (1, len(OF_THE_DIALOGUE)))
    student = learn_student(
        Reactions(reactions.episodes, moved, reactions.embeddings, reactions.replied, reactions.behaviour), worth, sets
    )
    left_out = [WIDTH + CUES.index(name) for name in OF_THE_DIALOGUE]
    assert np.isinf(student.scale[left_out]).all()
    assert np.isfinite(student.scale[:WIDTH]).all()


def test_turns_without_a_reply_or_a_judgement_teach_nothing():
    reactions, worth, sets = made_up()
    silent = reactions.replied.copy()
    silent[::5] = False
    judged = worth.copy()
    judged[1::5] = np.nan
    some = Reactions(reactions.episodes, reactions.cues, reactions.embeddings, silent, reactions.behaviour)
    one = learn_student(some, judged, sets)
    judged[::5] = 1000.0
    np.testing.assert_array_equal(learn_student(some, judged, sets).weights, one.weights)


def test_what_cannot_be_learnt_from_is_refused():
    reactions, worth, sets = made_up()
    with pytest.raises(InputError, match=r"all dialogues belong to one set \(one\).*Name two or more"):
        learn_student(reactions, worth, ["one"] * len(sets))
    reactions, worth, sets = made_up()
    with pytest.raises(InputError, match="119 judgements and 20 names of sets for 120 turns of 20 dialogues"):
        learn_student(reactions, worth[1:], sets)
    reactions, worth, sets = made_up()
    with pytest.raises(InputError, match="all alike"):
        learn_student(reactions, np.ones_like(worth), sets)
