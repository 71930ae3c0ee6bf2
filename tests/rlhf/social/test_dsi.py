"""Dynamic strategy injection: when which strategy is injected, and that no row that is learned from holds its words."""

import pytest

from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.agents import ROSTER
from apportion.rlhf.social import dsi
from apportion.rlhf.social.dsi import injected, told, with_strategies
from apportion.rlhf.social.episodes import evaluate, play_all, split_tasks
from apportion.rlhf.social.run import SocialRun, turn_tokens
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks

CONCEDING = ROSTER.scripted("conceding")


def at(seller, buyer):
    """The seller's view after both have offered so often; 100 is the seller's worst price, and 300 the best."""
    start = small_tasks().training[0]
    (episode,) = play_all(
        [start], Says(*(f"offer: {one}" for one in seller)), Says(*(f"offer: {one}" for one in buyer))
    )
    return episode.steps[len(seller)].view


@pytest.mark.parametrize(
    ("seller", "buyer", "name", "act"),
    [
        ((300,), (260,), "take", "accept"),
        ((300,), (120,), "hold", "offer: 300"),
        ((300, 280), (120, 140), "hold", "offer: 280"),
        ((280, 280), (120, 120), "bridge", "offer: 200"),
        ((300, 280), (140, 120), None, None),
    ],
)
def test_the_rule_goes_by_what_is_on_the_table(seller, buyer, name, act):
    strategy = injected(at(seller, buyer))
    assert (name, act) == (None, None) if strategy is None else (strategy.name, strategy.act.text) == (name, act)


def test_nothing_is_injected_before_the_other_side_has_offered_or_where_nothing_is_agreed_on():
    start = small_tasks().training[0]
    assert (
        injected(Observation(start.make(), start.agent)) is None and told(Observation(start.make(), start.agent)) == ""
    )
    from apportion.environments.sotopia.game import Sotopia
    from apportion.environments.sotopia.sources.bundled_tasks import scenarios, tasks

    other = [one for one in scenarios() if one.terms is None or one.terms.deal is None][:1]
    game = Sotopia(tasks(only=other)[0])
    assert injected(Observation(game, game.agents[0])) is None


def test_a_script_with_strategies_wins_more_of_the_same_partner():
    tasks = split_tasks(0, 2, 0.4, 20).training
    both = [evaluate(one, tasks, CONCEDING) for one in (with_strategies(CONCEDING), CONCEDING)]
    assert both[0].less(both[1]).low > 1.0
    assert with_strategies(CONCEDING).called == "conceding+strategies"


def test_the_injected_words_are_read_by_the_policy_and_are_in_no_row(monkeypatch):
    run = small_run(SMALL.model_copy(update={"expert": "self", "partner": "conceding", "least": 0.0}))
    read, learned = [], []
    from apportion.rlhf.sampling import policy_agent

    def said(policy, model, contexts, *rest):
        read.extend(policy.tokenizer.decode(list(one.prompt)) for one in contexts)
        return ["[physical action] offer: 200"] * len(contexts)

    monkeypatch.setattr(policy_agent, "sample_seeded", said)
    monkeypatch.setattr(SocialRun, "learn", lambda self, steps, tag: learned.extend(steps))
    dsi.train(run)
    hints = [text for text in read if "(The other side still moves. Ask for the same again: [physical action] " in text]
    assert hints and len(hints) < len(read)
    for steps in learned:
        tokens = turn_tokens(run.policy, steps, SMALL.window)
        row = run.policy.tokenizer.decode([*tokens.prompt, *tokens.reply])
        assert "offer: 200" in row and "still moves" not in row and "Take it" not in row and "halfway" not in row


def test_a_scripts_episodes_are_made_with_strategies(monkeypatch):
    run, makers = small_run(SMALL.model_copy(update={"partner": "conceding"})), []
    monkeypatch.setattr(SocialRun, "play", lambda self, agent, tag: makers.append((agent.called, tag)) or [])
    monkeypatch.setattr(dsi, "learn_best", lambda run, played, least, tag: None)
    dsi.train(run)
    assert makers == [("conceding+strategies", "injected-1")]
    assert with_strategies(Says(Action("leave"))).act(at((300,), (120,))).text == "offer: 300"
