from functools import partial

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.reward_model.history_windows import history_windows, said_by, window
from apportion.reward_model.network.dialogue import DialogueTokenizer
from apportion.rlhf.policy.contexts import as_chat, make_contexts
from apportion.rlhf.training.tiny_policy import train_tokenizer
from tests.environments.sotopia.test_canaries import OF_A, OF_B, TASKS
from tests.reward_model.tiny import tokenizer

HIDDEN = {"Ann Lee": OF_B, "Bob Ray": OF_A}
OWN = {"Ann Lee": "GOAL-A", "Bob Ray": "GOAL-B"}


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canaries")
    (folder / "tasks.toml").write_text(TASKS)
    write_corpus(SimulationChoice(("conceding",), tasks=folder / "tasks.toml"), folder / "play")
    return [each for one in Corpus.open(folder / "play").iter_sessions() for each in one.episodes("GOAL")]


@pytest.mark.parametrize("history_turns", [1, 20])
def test_a_reward_model_reads_its_own_goal_and_none_of_the_others_secrets(episodes, history_turns):
    assert len(episodes) == 2
    for episode in episodes:
        target = episode.rating.target
        pairs = history_windows([episode], history_turns).pairs
        assert pairs and all(OWN[target] in history for history, _ in pairs)
        # What a causal model reads in one pass: the same lines as tokens.
        whole = said_by(episode)
        read = [text for pair in pairs for text in pair] + [text for _, text in whole]
        assert not [secret for secret in HIDDEN[target] for text in read if secret in text]
        shut = DialogueTokenizer(tokenizer(), 400).encode(whole)
        assert shut.scored == len(episode.target_turns)


def test_a_policy_is_told_its_own_goal_and_none_of_the_others_secrets(episodes):
    words = train_tokenizer(["Good day. Goal: GOAL-A GOAL-B"], 300)
    read = partial(make_contexts, tokenizer=words, context_turns=20, max_context_tokens=4000)
    for episode in episodes:
        target = episode.rating.target
        contexts = read([episode], history=lambda episode, position: window(episode, position, 3)[0]).contexts
        assert contexts
        for context in contexts:
            shown = " ".join(message["content"] for message in as_chat(context.messages, words)) + context.history
            assert OWN[target] in shown and not [secret for secret in HIDDEN[target] if secret in shown]
