"""SOTOPIA-pi: whose episodes are learned from, in which order, by which filter."""

import pytest

from apportion.foundation.errors import UnitError
from apportion.rlhf.social import sotopia_pi
from apportion.rlhf.social.run import SocialRun
from tests.rlhf.social.small import SMALL, Says, small_run


def test_the_expert_is_cloned_first_then_the_policy_learns_from_its_own_best(monkeypatch):
    learned, makers = [], []
    run = small_run(SMALL.model_copy(update={"rounds": 2, "draws": 2}))
    expert = Says("offer: 200", "accept")
    monkeypatch.setattr(SocialRun, "expert", expert)
    monkeypatch.setattr(SocialRun, "agent", lambda self, **how: Says("accept", called="policy"))
    monkeypatch.setattr(SocialRun, "learn", lambda self, steps, tag: learned.append((tag, len(steps))))
    play = SocialRun.play
    monkeypatch.setattr(
        SocialRun, "play", lambda self, agent, tag: makers.append((agent.called, tag)) or play(self, agent, tag)
    )
    sotopia_pi.train(run)
    assert makers == [("says", "cloning"), ("policy", "round-1"), ("policy", "round-2")]
    assert learned == [("cloning", 2), ("round 1", 2), ("round 2", 2)]  # The best of two draws, of each seat.
    makers.clear()
    run.settings = run.settings.model_copy(update={"cloning": False, "rounds": 1})
    sotopia_pi.train(run)
    assert makers == [("policy", "round-1")]


def test_a_round_of_which_nothing_passes_says_what_to_do():
    run = small_run(SMALL.model_copy(update={"least": 9.0}))
    with pytest.raises(UnitError, match=r"round 1: no episode of 2 has a goal score of 9; the best has 0.00. Lower le"):
        sotopia_pi.learn_best(run, run.play(Says(), "x"), 9.0, "round 1")
