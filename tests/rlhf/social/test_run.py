"""What a method is lent: rows in which only the seat's own words count, two ways to learn, and policies that go on."""

import pytest
import torch

from apportion.environments.actions import UNUSABLE
from apportion.environments.environment import Action
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.social.episodes import play_all
from apportion.rlhf.social.run import IGNORED, SocialSettings, begin_run, turn_tokens
from tests.rlhf.saved import save_aligned
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks

SPEAK = Action("speak", "Hello there, friend.")


def played(*acts, other="offer: 300"):
    (episode,) = play_all(small_tasks().training[1:2], Says(*acts), Says(Action("speak", "So?"), other, other))
    return episode


def test_a_row_counts_the_own_words_of_all_turns_and_nobody_elses():
    run = small_run()
    episode = played(SPEAK, "offer: 100", "accept")
    row = turn_tokens(run.policy, episode.steps[:3], SMALL.window)
    decode = run.policy.tokenizer.decode
    own = [token for token, counts in zip(row.reply, row.mask, strict=True) if counts]
    end = decode([run.policy.eos_ids[0]])
    assert decode(own) == f"Hello there, friend.{end}[physical action] offer: 100{end}[physical action] accept{end}"
    assert row.mask[0] == 1 and "offer: 300" in decode(list(row.reply))
    # Later turns alone follow the same history.
    later = turn_tokens(run.policy, episode.steps[1:3], SMALL.window)
    assert later.prompt + later.reply == row.prompt + row.reply and len(later.prompt) > len(row.prompt)
    assert sum(later.mask) < sum(row.mask)
    ids, labels = row.labelled["input_ids"], row.labelled["labels"]
    assert ids == [*row.prompt, *row.reply] and len(labels) == len(ids)
    assert [one for one in labels if one != IGNORED] == own and set(labels[: len(row.prompt)]) == {IGNORED}


def test_an_act_that_stands_for_none_counts_nowhere():
    run = small_run()
    none = Action("none").marked(UNUSABLE, "no act")
    both = turn_tokens(run.policy, played(SPEAK, none).steps[:2], SMALL.window)
    assert sum(both.mask) == sum(turn_tokens(run.policy, played(SPEAK, none).steps[:1], SMALL.window).mask)


def test_what_does_not_fit_is_an_error():
    run, episode = small_run(), played(SPEAK, SPEAK, SPEAK)
    whole = len(turn_tokens(run.policy, episode.steps, SMALL.window).labelled["input_ids"])
    with pytest.raises(UnitError, match="raise tokens"):
        turn_tokens(run.policy, episode.steps, Window(max_context_tokens=whole - 40, max_new_tokens=32))


def test_learning_makes_what_was_said_likelier_and_preferring_what_was_chosen():
    run = small_run(SMALL.model_copy(update={"epochs": 4, "lr": 0.01}))
    good, bad = played("offer: 100", "accept"), played("offer: 290", SPEAK)
    row = turn_tokens(run.policy, good.steps[:2], SMALL.window)

    def likely(tokens):
        ids = torch.tensor([tokens.labelled["input_ids"]])
        with torch.no_grad():
            logs = run.model(ids).logits[0, :-1].log_softmax(-1)
        counts = torch.tensor(tokens.labelled["labels"][1:]) != IGNORED
        return float(logs.gather(1, ids[0, 1:, None])[:, 0][counts].sum())

    before = likely(row)
    told = []
    run.tell = told.append
    run.learn([good.steps[:2]], "first")
    assert likely(row) > before + 1 and "first: learned from 1 episodes, loss" in told[0]

    from apportion.rlhf.social.sdpo import pair_row

    better, worse = good.steps[:2], bad.steps[:2]
    apart = likely(row) - likely(turn_tokens(run.policy, worse, SMALL.window))
    run.prefer([pair_row(run, better, worse)], "second")
    assert likely(row) - likely(turn_tokens(run.policy, worse, SMALL.window)) > apart + 1
    assert "second: learned from 1 pairs, loss 0.693 at first" in told[1]
    assert list(run.model.peft_config) == ["default"]  # TRL's copy is gone.


def test_a_folder_goes_on_with_its_adapters(tmp_path):
    folder = save_aligned(tmp_path / "aligned")
    with pytest.raises(InputError, match="reads at most 128 tokens"):
        begin_run(str(folder), SMALL, 0)
    run = begin_run(str(folder), SMALL.model_copy(update={"tokens": 96}), 0)
    assert run.policy.name == "tiny" and list(run.model.peft_config) == ["default"]
    assert {name.rpartition("lora_")[1] for name, one in run.model.named_parameters() if one.requires_grad} == {"lora_"}


@pytest.mark.parametrize(
    ("policy", "settings", "why"),
    [
        ("/nowhere/x", {}, "no such folder"),
        ("tiny", {"partner": "nobody"}, "nobody"),
        ("tiny", {"expert": "nobody"}, "nobody"),
    ],
)
def test_what_is_not_there_is_told(policy, settings, why):
    with pytest.raises(InputError, match=why):
        begin_run(policy, SocialSettings(**settings), 0)
