"""A policy as an agent: what it reads of its seat, what its words do, and that it draws the same again."""

import random

import pytest
import torch

from apportion.corpus.corpus import Corpus
from apportion.environments.actions import UNUSABLE
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, AgentAction, Observation
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.simulation import SimulationChoice, plans_of
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.model_spec import ModelSpec
from apportion.rlhf.policy.folder import write_window
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.sampling import policy_agent
from apportion.rlhf.sampling.policy_agent import BEGIN, PolicyAgent, act_said, episode_seen, live_context, open_turn
from tests.environments.games import Countdown, take
from tests.environments.sotopia.test_canaries import OF_A, OF_B, TASKS
from tests.rlhf.saved import save_aligned, save_model
from tests.rlhf.toy import small_policy

ROOM = Window(max_context_tokens=3000, max_new_tokens=4)
HIDDEN = {"Ann Lee": OF_B, "Bob Ray": OF_A}


@pytest.fixture
def game(tmp_path):
    (tmp_path / "tasks.toml").write_text(TASKS)
    (task,) = chosen_space(tmp_path / "tasks.toml", None).draw(pairs=5, seed=0)
    made = Sotopia(task, Rules(most_acts=6))
    made.reset("s")
    return made


def saying(monkeypatch, words: str) -> PolicyAgent:
    """An agent that always says these words; what it reads is kept in `contexts`."""
    policy = small_policy()
    monkeypatch.setattr(policy_agent, "sample_seeded", lambda policy, model, contexts, *rest: [words] * len(contexts))
    return PolicyAgent("policy", policy, policy.model, ROOM)


def test_it_plays_an_episode_to_its_end_and_draws_the_same_again(game):
    policy, before = small_policy(), torch.get_rng_state()
    agent = PolicyAgent("policy", policy, policy.model, ROOM, seed=3)
    twice = []
    for seed in ("s", "s", "t"):
        game.reset(seed)
        play(game, dict.fromkeys(game.agents, agent))
        twice.append([move.act.text for moves in game.steps for move in moves])
    assert game.over and twice[0] == twice[1] != twice[2]
    assert torch.equal(torch.get_rng_state(), before)
    other = PolicyAgent("policy", policy, policy.model, ROOM, seed=4)
    game.reset("s")
    play(game, dict.fromkeys(game.agents, other))
    assert [move.act.text for moves in game.steps for move in moves] != twice[0]


def test_several_episodes_are_sampled_at_once_and_greedily_where_asked(game):
    policy = small_policy()
    views = [Observation(game.clone(), "Ann Lee") for _ in range(3)]
    agent = PolicyAgent("policy", policy, policy.model, ROOM, greedy=True)
    acts = agent.act_all(views)
    assert len(set(acts)) == 1 and acts[0] == agent.act(views[0])


def test_what_it_reads_is_what_the_corpus_of_the_same_episode_has_and_nothing_of_the_other(tmp_path):
    (tmp_path / "tasks.toml").write_text(TASKS)
    choice = SimulationChoice(("conceding",), tasks=tmp_path / "tasks.toml")
    write_corpus(choice, tmp_path / "play")
    (session,) = Corpus.open(tmp_path / "play").iter_sessions()
    (plan,) = plans_of(choice, {"conceding": Conceding()})
    live = plan.make()
    live.reset(plan.seed)
    play(live, plan.agents)
    for episode in session.episodes("GOAL"):
        seen = episode_seen(Observation(live, episode.rating.target), session.session_id)
        assert [turn.text for turn in seen.turns] == [turn.text for turn in episode.turns]
        mine = [turn.speaker == episode.rating.target for turn in episode.turns]
        assert [turn.speaker == episode.rating.target for turn in seen.turns] == mine
        assert seen.known_to_target == episode.known_to_target == seen.backgrounds
        said = f"{seen} {live_context(seen, small_policy().tokenizer, 3000).messages}"
        assert not [secret for secret in HIDDEN[episode.rating.target] if secret in said]


def test_who_opens_the_dialogue_is_told_so_and_the_oldest_turns_go_first(game):
    policy = small_policy()
    first = live_context(episode_seen(Observation(game, "Ann Lee"), "e"), policy.tokenizer, 3000)
    assert (first.messages[-1].role, first.messages[-1].text) == ("user", BEGIN)
    for word in ("one", "two", "three"):
        game.do(Action("speak", word))
    third = live_context(episode_seen(Observation(game, "Bob Ray"), "e"), policy.tokenizer, 3000)
    assert [message.text for message in third.messages if message.role != "known"] == ["one", "two", "three"]
    # The dialogue of who opened it begins with the mark, so that the template is never opened by the assistant.
    mine = live_context(episode_seen(Observation(game, "Ann Lee"), "e"), policy.tokenizer, 3000)
    assert [message.role for message in mine.messages if message.role != "known"] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    shorter = live_context(episode_seen(Observation(game, "Bob Ray"), "e"), policy.tokenizer, len(third.prompt) - 1)
    assert [message.text for message in shorter.messages if message.role != "known"] == ["three"]
    with pytest.raises(UnitError, match=r"e: what 'Bob Ray' knew .* more than max_context_tokens = 20. Raise that"):
        live_context(episode_seen(Observation(game, "Bob Ray"), "e"), policy.tokenizer, 20)


def test_its_words_are_acts_of_every_kind_and_what_is_none_is_silence(game, monkeypatch):
    view = Observation(game, "Ann Lee")
    assert act_said(view, "Good  day.\n") == Action("speak", "Good day.")
    assert act_said(view, "[physical action] offer: 3") == Action("physical action", "offer: 3")
    assert act_said(view, "[Leave] left the conversation") == Action("leave")
    assert act_said(view, " ") == act_said(view, "[none] did nothing") == act_said(view, "[speak] ") == Action("none")
    shouted = act_said(view, "x" * 30_000)
    assert shouted.kind == "none" and "30,000 characters" in shouted.data[UNUSABLE]
    assert saying(monkeypatch, "[leave]").act(view) == Action("leave")


def test_where_nothing_can_stand_for_it_what_is_no_act_is_an_error():
    game = Countdown(["ann", "bob"])
    assert act_said(Observation(game, "ann"), "2") == take(2)
    with pytest.raises(UnitError, match=r"'bob' did what is no act \(step 0.* nothing can stand for it"):
        act_said(Observation(game, "bob"), "2")


def test_an_aligned_policy_plays_by_its_folder(tmp_path, game):
    agent = PolicyAgent.of(str(save_aligned(tmp_path / "mine")))
    assert agent.called == "policy@mine" and not agent.paid
    wide = PolicyAgent(agent.called, agent.policy, agent.model, ROOM)
    play(game, dict.fromkeys(game.agents, wide))
    assert game.over


def test_smollm2_is_an_agent_by_its_name_and_loaded_when_it_acts(tmp_path, monkeypatch, game):
    with pytest.raises(InputError, match="Get it: apportion models fetch smollm2"):
        ROSTER.scripted("smollm2")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path))
    folder = save_model(tmp_path / "models" / "smollm2")
    with pytest.raises(InputError, match=r"reads at most 128 tokens; .* = 1984"):
        ROSTER.scripted("smollm2")
    write_window(folder, Window(max_context_tokens=100, max_new_tokens=4))
    loaded = []
    words = saying(monkeypatch, "hi")
    monkeypatch.setattr(PolicyAgent, "of", lambda name: loaded.append(name) or words)
    by_name, by_folder = ROSTER.scripted("smollm2"), ROSTER.scripted(f"policy@{folder}")
    assert (by_name.called, by_folder.called, loaded) == ("smollm2", "policy@smollm2", [])
    views = [Observation(game, "Ann Lee")]
    assert by_name.act(views[0]) == by_name.act_all(views)[0] == Action("speak", "hi") and loaded == ["smollm2"]
    assert ROSTER.called_as("smollm2", ModelSpec()) == "smollm2" and not by_name.paid


def test_an_open_turn_is_the_agents_own(game):
    game.do(Action("speak", "hello"))
    opened = open_turn(episode_seen(Observation(game, "Bob Ray"), "e"))
    assert [(turn.speaker, turn.text) for turn in opened.turns] == [("person 1", "hello"), ("Bob Ray", "")]


def test_any_words_are_the_act_that_they_are_heard_as(game):
    """What an utterance is heard as means the same act: histories hold what was done."""
    draws, view = random.Random(0), Observation(game, "Ann Lee")
    pieces = ["[speak] ", "[leave]", "[none]", "[physical action] ", "offer: 3", " ", "hi", "[", "]", "[non-verbal "]
    for _ in range(500):
        act = act_said(view, "".join(draws.choices(pieces, k=draws.randint(0, 4))))
        words = game.said(AgentAction(view.agent, act))
        assert words is not None
        assert act_said(view, words)[:2] == act[:2]
