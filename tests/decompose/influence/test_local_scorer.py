import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import normalizers

from apportion.decompose.influence.chat_text import ChatText, load_tokenizer
from apportion.decompose.influence.local_scorer import LocalMeasurer, load_measurer
from apportion.decompose.influence.prefix_tree import Sequenced, SharedPrefixes, can_share
from apportion.decompose.influence.scorer import (
    LogprobResult,
    Prompt,
    TooLongError,
    check_replies,
    common_length,
    shift_of,
)
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.request import ChatMessage
from tests.decompose.influence.measurers import SAID, measurer, small_model, tokenizer

PLAYED = "\n".join(f"Player {turn % 7 + 1}: {SAID[turn % 3]}" for turn in range(12))
REPLIES = (
    "I think player 3 is a wolf.",
    "I think that player 3 is good.",
    "Vote five!",
    "No.",
    "I am the seer!",
    "I trust you, really, and I will vote with you.",
)


def prompts(count=8, begun="<response>"):
    return [
        Prompt(
            (
                ChatMessage("system", "Rules: seven players, two of them wolves."),
                ChatMessage("user", f"{PLAYED}\nPlayer 6: {SAID[i % 3]} {'Indeed! ' * i}\nWhat do you say?"),
            ),
            begun,
        )
        for i in range(count)
    ]


def token_by_token(model, sequence):
    """log P of a reply as its definition says: each token after all before it, in a pass of its own."""
    total = 0.0
    with torch.inference_mode():
        for place in range(sequence.start, len(sequence.ids)):
            logits = model(torch.tensor([sequence.ids[:place]])).logits[0, -1]
            total += float(torch.log_softmax(logits.double(), dim=-1)[sequence.ids[place]])
    return total


@pytest.mark.parametrize("kind", ["llama", "gpt2", "sliding"])
def test_log_probabilities_are_those_of_a_loop_over_the_tokens(kind):
    asked, replies = prompts(3), REPLIES[:4]
    one = measurer(kind)
    found = one.measure(asked, replies)
    model = small_model(kind)
    for n, prompt in enumerate(asked):
        for m, sequence in enumerate(one.sequences(prompt, replies)):
            assert found.sums[n, m] == pytest.approx(token_by_token(model, sequence), abs=1e-5)
            assert found.tokens[n, m] == len(sequence.ids) - sequence.start
    assert found.means == pytest.approx(found.sums / found.tokens)


def test_what_is_shared_is_computed_once_and_comes_to_the_same():
    # 2K = 6 replies to n = 8 utterances, as the paper trains.
    one = measurer()
    found = one.measure(prompts(), REPLIES)
    sequences = [s for prompt in prompts() for s in one.sequences(prompt, REPLIES)]
    whole = SharedPrefixes(small_model(), share=False)
    alone = whole.log_probabilities(sequences)
    assert found.sums.ravel() == pytest.approx([float(logs.sum()) for logs in alone], abs=1e-5)
    assert whole.computed == sum(len(s.ids) - 1 for s in sequences)
    assert found.computed is not None and whole.computed > 4 * found.computed


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.lists(st.integers(1, 3), min_size=2, max_size=40), st.integers(1, 39)), min_size=1))
def test_any_sequences_come_to_the_same_shared_or_alone(drawn):
    sequences = [Sequenced(tuple(ids), min(start, len(ids))) for ids, start in drawn]
    model = small_model()
    shared, alone = SharedPrefixes(model), SharedPrefixes(model, share=False)
    for one, other in zip(shared.log_probabilities(sequences), alone.log_probabilities(sequences), strict=True):
        assert one == pytest.approx(other, abs=2e-5) and np.isfinite(one).all()


def test_several_that_are_measured_at_once_come_to_the_same_and_share():
    asked = [(prompts(2), REPLIES[:2]), (prompts(3)[2:], REPLIES[3:])]
    one = measurer()
    together = one.measure_all(asked)
    apart = [measurer().measure(*each) for each in asked]
    for first, second in zip(together, apart, strict=True):
        assert first.sums == pytest.approx(second.sums, abs=2e-5)
    assert together[0].computed == together[1].computed < sum(each.computed or 0 for each in apart)


def test_a_turn_s_end_that_somebody_spells_ends_nothing():
    prompt = Prompt((ChatMessage("user", "Say<|end|><|assistant|>yes"),), "<|end|>")
    (sequence,) = measurer().sequences(prompt, ["No<|end|>."])
    marks = {tokenizer().convert_tokens_to_ids(mark) for mark in ("<|end|>", "<|assistant|>")}
    # One end of the user's message and one start of the assistant's are the template's own.
    assert sum(token in marks for token in sequence.ids) == 2


def test_a_system_s_words_stand_before_the_first_others_where_a_template_has_no_place_for_them():
    refusing = load_copy("{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}")
    asked = Prompt((ChatMessage("system", "Rules."), ChatMessage("user", "Well?")), "So.")
    assert "<|user|>Rules.\n\nWell?<|end|><|assistant|>So." in ChatText("m", refusing).before(asked)
    alone = Prompt((ChatMessage("system", "Rules."),))
    assert "<|user|>Rules." in ChatText("m", refusing).before(alone)


def load_copy(before="", template=None):
    import copy

    changed = copy.deepcopy(tokenizer())
    changed.chat_template = before + (tokenizer().chat_template if template is None else template)
    return changed


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", "has no chat template"),
        ("{{ raise_exception('never') }}", "shows no user's message: never"),
        ("hello", "leaves out what a user says"),
    ],
)
def test_a_template_that_shows_no_dialogue_is_told(template, words):
    with pytest.raises(InputError, match=words):
        ChatText("m", load_copy(template=template))


def test_roles_that_a_template_refuses_are_told():
    text = ChatText(
        "m", load_copy("{% if messages[-1]['role'] == 'assistant' %}{{ raise_exception('order') }}{% endif %}")
    )
    with pytest.raises(InputError, match="cannot show user, assistant: order"):
        text.before(Prompt((ChatMessage("user", "a"), ChatMessage("assistant", "b"))))


def test_too_long_a_prompt_is_told_with_its_place():
    one = measurer(context_tokens=200)
    with pytest.raises(TooLongError, match="tokens, and the measurer 'measurer' reads at most 200") as told:
        one.measure_all([([Prompt((ChatMessage("user", "short"),))], ["a"]), (prompts(1), ["a"])])
    assert (told.value.asked, told.value.prompt, told.value.reply) == (1, 0, 0)
    with pytest.raises(InputError, match="reads at most 2048 tokens, and context_tokens is 4096"):
        measurer(context_tokens=4096)


def test_a_reply_that_is_no_token_is_told():
    silent = load_copy()
    silent.backend_tokenizer.normalizer = normalizers.Replace("\u200b", "")
    with pytest.raises(UnitError, match="reply 2 of 2 is no token"):
        LocalMeasurer(small_model(), silent).measure(prompts(1), ["a", "\u200b"])


def test_what_cannot_be_loaded_is_told(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        load_measurer(str(tmp_path / "none"))
    with pytest.raises(InputError, match="its tokenizer cannot be loaded"):
        load_tokenizer(str(tmp_path))
    tokenizer().save_pretrained(tmp_path)
    small_model().config.save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"cannot be loaded: .*safetensors"):
        load_measurer(str(tmp_path))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_told():
    with pytest.raises(InputError, match="torch sees no CUDA device"):
        load_measurer("any", device="cuda")


def test_a_model_whose_memory_is_no_cache_of_keys_and_values_shares_nothing():
    from transformers import MambaConfig, MambaForCausalLM

    small = MambaConfig(vocab_size=len(tokenizer()), hidden_size=32, num_hidden_layers=2, state_size=8)
    model = MambaForCausalLM(small).eval()
    assert not can_share(model) and can_share(small_model()) and can_share(small_model("sliding"))
    one = LocalMeasurer(model, tokenizer())
    found = one.measure(prompts(1), REPLIES[:2])
    for m, sequence in enumerate(one.sequences(prompts(1)[0], REPLIES[:2])):
        assert found.sums[0, m] == pytest.approx(token_by_token(model, sequence), abs=1e-4)


SUMS = np.array([[-2.0, -6.0, -3.0, -8.0], [-4.0, -6.0, -1.0, -8.0]])
MEASURED = LogprobResult(SUMS, np.array([[2, 3, 1, 4], [2, 3, 1, 4]]))


class Told:
    """A measurer that says what it was told to."""

    def measure(self, prompts, replies):
        self.asked = (prompts, replies)
        return MEASURED


def test_equation_5_by_hand():
    # (-2 - 6) - (-3 - 8) = 3 and (-4 - 6) - (-1 - 8) = -1
    assert shift_of(MEASURED, 2).tolist() == [3.0, -1.0]
    # By token: (-1 - 2) - (-3 - 2) = 2 and (-2 - 2) - (-1 - 2) = -1
    assert shift_of(MEASURED, 2, per_token=True).tolist() == [2.0, -1.0]
    # Positive and negative replies alone.
    assert shift_of(MEASURED, 4).tolist() == [-19.0, -19.0] and shift_of(MEASURED, 0).tolist() == [19.0, 19.0]


@pytest.mark.parametrize(
    ("prompts", "replies", "words"),
    [
        ([], ["a"], "0 prompts and 1 replies: there is nothing to measure"),
        ([Prompt(())], [], "1 prompts and 0 replies"),
        ([Prompt(())], ["a"], "without a message"),
        ([Prompt((ChatMessage("assistant", "b"),))], ["a"], "a prompt that the assistant ends"),
        ([Prompt((ChatMessage("user", "b"),))], ["a", " \n"], "reply 2 of 2 has no text"),
    ],
)
def test_nothing_to_measure_is_told(prompts, replies, words):
    with pytest.raises(UnitError, match=words):
        check_replies(prompts, replies)


@given(st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=4))
def test_the_common_length_is_the_longest_that_all_begin_with(sequences):
    length = common_length(sequences)
    assert all(one[:length] == sequences[0][:length] for one in sequences)
    assert len({tuple(one[: length + 1]) for one in sequences}) > 1 or length == min(map(len, sequences))
