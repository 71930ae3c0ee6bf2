"""Another policy as the other side: it speaks for its own side, the same for the same, and draws nothing of others."""

import pytest
import torch
from pydantic import ValidationError

from apportion.foundation.errors import UnitError
from apportion.rlhf.alignment import align_here
from apportion.rlhf.policy.contexts import make_contexts, render
from apportion.rlhf.sampling.policy_partner import PolicyPartner, PolicyPartnerSettings
from apportion.rlhf.training.job import Job
from tests.rlhf.sampling.test_partner import TALK, three
from tests.rlhf.test_alignment import SPLITS, by_length, digest
from tests.rlhf.toy import SMALL, Scored, chats, episode, small_policy


def partner(seed=0, **options):
    given = {"policy": "small", "max_new_tokens": 6, "max_context_tokens": 64, "temperature": 1.5, **options}
    return PolicyPartner([episode("talk", TALK)], three, small_policy(), PolicyPartnerSettings(**given), seed)


def contexts():
    talk = episode("talk", TALK)
    return make_contexts([talk], small_policy().tokenizer, three, context_turns=3, max_context_tokens=64).contexts


def test_it_reads_the_dialogue_from_its_own_side(monkeypatch):
    asked = []
    speaking = partner()
    drawn = speaking._drawn
    monkeypatch.setattr(speaking, "_drawn", lambda some: asked.extend(some) or drawn(some))
    context = contexts()[0]
    answer = speaking.answer(context, ["mine"])
    (heard,) = asked
    # It opened the dialogue, so that its own first words are left out: templates want the other side first.
    assert [(said.role, said.text) for said in heard.messages] == [("user", "mine")]
    assert heard.prompt == render(heard.messages, small_policy().tokenizer, reply_follows=True)
    assert speaking.history(context, ["mine"]) == f"A: a0\nB: mine\nA: {answer or ''}\n"


def test_the_same_seed_says_the_same_and_nothing_outside_is_drawn():
    heard = [(context, ("mine",)) for context in contexts()]
    speaking = partner()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first = speaking.answer_all(heard)
    assert torch.equal(torch.rand(2), expected)
    assert partner().answer_all(heard) == first
    assert partner(seed=1).answer_all(heard) != first
    greedy = partner(greedy=True).answer_all(heard)
    assert partner(seed=1, greedy=True).answer_all(heard) == greedy
    assert len(partner(batch_size=1).answer_all(heard)) == len(heard)


def test_a_dialogue_that_it_cannot_read_is_told():
    with pytest.raises(
        UnitError, match=r"partner_settings: session talk, turn 1: .* max_context_tokens = 8 of its own"
    ):
        partner(max_context_tokens=8).answer(contexts()[0], ["mine " * 9])


def test_a_policy_has_to_be_named():
    with pytest.raises(ValidationError, match="policy"):
        PolicyPartnerSettings()


def test_a_folder_counts_by_its_content(tmp_path):
    small_policy().model.save_pretrained(tmp_path)
    one = PolicyPartnerSettings(policy=str(tmp_path)).identity()
    assert PolicyPartnerSettings(policy=str(tmp_path), device="cuda").identity() == one
    small_policy(seed=1).model.save_pretrained(tmp_path)
    assert PolicyPartnerSettings(policy=str(tmp_path)).identity() != one


def talking(folder, **changes):
    """Settings of a training with a partner in ``folder``, made there."""
    other = small_policy(seed=1)
    other.model.save_pretrained(folder / "other")
    other.tokenizer.save_pretrained(folder / "other")
    own = {"policy": str(folder / "other"), "max_new_tokens": 4, "max_context_tokens": 100}
    by = {"partner": "policy", "partner_settings": own, "max_turns": 2, "max_context_tokens": 120}
    return SMALL.model_validate({**SMALL.model_dump(), **by, **changes})


def test_a_training_that_is_stopped_goes_on_to_the_policy_of_the_undisturbed_one(tmp_path):
    chosen = talking(tmp_path, steps=3)
    align_here(Job(chats(4), SPLITS, None, chosen, 0, tmp_path / "whole"), Scored(by_length))
    stopped = Job(chats(4), SPLITS, None, chosen, 0, tmp_path / "stopped", tmp_path / "kept")

    def stop(done, total, text):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        align_here(stopped, Scored(by_length), progress=stop)
    align_here(stopped, Scored(by_length))
    assert digest(tmp_path / "whole") == digest(tmp_path / "stopped")


def test_what_was_said_in_earlier_dialogues_is_not_heard_again():
    speaking = partner(temperature=5)
    heard = [(context, ("mine",)) for context in contexts()]
    together = speaking.answer_all(heard)
    alone = [speaking.answer(*each) for each in heard]
    # Drawn with what else is answered then, as a process would draw that has just begun.
    assert [partner(temperature=5).answer(*each) for each in heard] == alone
    assert partner(temperature=5).answer_all(heard) == together
