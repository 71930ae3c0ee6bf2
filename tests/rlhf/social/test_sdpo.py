"""SDPO: which turn was wrong, which segments are compared, and what of them counts."""

import pytest

from apportion.environments.environment import Action
from apportion.foundation.errors import UnitError
from apportion.rlhf.social import sdpo
from apportion.rlhf.social.episodes import play_all, play_on
from apportion.rlhf.social.run import SocialRun, turn_tokens
from apportion.rlhf.social.sdpo import erroneous_turn, given_away, pair_row, segments
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks

SPEAK = Action("speak", "Let us see.")
START = small_tasks().training[0]
"""The seller's seat: 100 is its worst price, and 300 the best."""


def episode(*acts, other=("offer: 120", "offer: 140", "offer: 160")):
    return play_all([START], Says(*acts), Says(*other))[0]


def test_the_turn_that_gives_the_most_away_is_the_wrong_one():
    played = episode("offer: 300", "offer: 280", "accept")
    assert [given_away(step) for step in played.steps[:3]] == pytest.approx([0.0, 0.1, 0.7])
    assert erroneous_turn(played.steps) == 2
    # Words give away what could have been accepted.
    assert [given_away(step) for step in episode(SPEAK, SPEAK).steps[:2]] == pytest.approx([0.0, 0.1])
    # To accept where nothing stands is but words.
    assert given_away(episode("accept").steps[0]) == 0.0
    assert erroneous_turn(episode(SPEAK, SPEAK, SPEAK, other=()).steps) == 0


def test_segments_are_as_long_as_each_other_and_begin_where_both_part():
    one = episode(SPEAK, "offer: 300", "offer: 250", "offer: 240")
    two = episode(SPEAK, "offer: 300", "offer: 200", "offer: 190")
    better, worse = segments(one.steps, two.steps, 3)
    assert [step.said for step in better] == ["[physical action] offer: 250", "[physical action] offer: 240"]
    assert [step.said for step in worse] == ["[physical action] offer: 200", "[physical action] offer: 190"]
    assert [len(side) for side in segments(one.steps, two.steps, 1)] == [1, 1]
    short = episode(SPEAK, "offer: 300", Action("leave"))
    assert [len(side) for side in segments(one.steps, short.steps, 3)] == [1, 1]
    assert segments(one.steps, one.steps, 3) is None


def test_a_pair_has_one_prompt_and_others_turns_do_not_count():
    run = small_run()
    one, two = (episode("offer: 300", f"offer: {price}", "accept") for price in (290, 110))
    row = pair_row(run, *segments(one.steps, two.steps, 3))
    whole = turn_tokens(run.policy, one.steps, SMALL.window)
    assert whole.labelled["input_ids"][: len(row["prompt_ids"])] == row["prompt_ids"]
    decode, end = run.policy.tokenizer.decode, run.policy.tokenizer.decode([run.policy.eos_ids[0]])
    for side, price in (("chosen", 290), ("rejected", 110)):
        ids, mask = row[f"{side}_ids"], row[f"{side}_mask"]
        own = decode([token for token, counts in zip(ids, mask, strict=True) if counts])
        assert own.startswith(f"[physical action] offer: {price}{end}[physical action] accept{end}")
        assert "offer: 140" in decode(ids) and "140" not in own


def run_of(monkeypatch, first, again, **changed):
    """A run whose policy plays ``first``, and ``again`` when it goes on from a turn."""
    run, preferred = small_run(SMALL.model_copy(update={"least": 7.0, **changed})), []
    run.tasks = type(run.tasks)((START,), run.tasks.held_out)
    monkeypatch.setattr(SocialRun, "agent", lambda self, **how: None)
    other = Says("offer: 120", "offer: 140", "offer: 260")
    monkeypatch.setattr(SocialRun, "play", lambda self, agent, tag: play_all([START], Says(*first), other))
    monkeypatch.setattr(
        SocialRun,
        "play_on",
        lambda self, step, played, agent, times: play_on([(START, step.before)] * times, Says(*again), other),
    )
    monkeypatch.setattr(SocialRun, "prefer", lambda self, pairs, tag: preferred.append((tag, pairs)))
    return run, preferred


def test_a_round_learns_from_what_went_better_from_the_wrong_turn_on(monkeypatch):
    run, preferred = run_of(monkeypatch, ("offer: 300", "accept"), ("offer: 300", SPEAK, SPEAK, "accept"))
    told = []
    run.tell = told.append
    sdpo.train(run)
    ((tag, (row,)),) = preferred
    assert tag == "round 1" and told == ["round 1: 1 pairs from 1 episodes below 7"]
    assert "Let us see." in run.policy.tokenizer.decode(row["chosen_ids"])


@pytest.mark.parametrize(
    ("first", "again", "least", "bad"),
    [
        (("offer: 300", "accept"), ("offer: 300", "accept"), 7.0, 1),  # Nothing was better.
        (("offer: 300", "accept"), ("offer: 300", SPEAK, SPEAK, "accept"), 0.5, 0),  # Nothing was bad enough.
    ],
)
def test_a_round_without_pairs_says_what_to_do(monkeypatch, first, again, least, bad):
    run, preferred = run_of(monkeypatch, first, again, least=least)
    with pytest.raises(UnitError, match=f"no pair from {bad} episodes .* Raise least or resamples"):
        sdpo.train(run)
    assert not preferred
