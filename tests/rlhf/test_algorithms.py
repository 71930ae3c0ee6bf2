"""A trainer is one row: a toy is added by its row alone, set, told and trained."""

import json
from importlib.metadata import EntryPoint

import pytest
from pydantic import Field, ValidationError

from apportion.foundation import registry
from apportion.foundation.errors import InputError
from apportion.foundation.lazy import load_named
from apportion.foundation.settings import Settings
from apportion.rlhf.algorithms import ALGORITHMS, Algorithm, listed, readers, unrewarded
from apportion.rlhf.align import align
from apportion.rlhf.plugins import PARTNERS, REWARDS, Plugin
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.sampling.partner import RecordedPartner, answers
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.reward import load_reward
from tests.rlhf.test_alignment import SPLITS
from tests.rlhf.toy import SMALL, chats, no_history, splits

TOY = Algorithm("toy", "Toy: moves nothing.", f"{__name__}:train_toy", frozenset(("epochs",)), needs_reward=False)


def train_toy(data, run):
    """The base policy with adapters that change nothing; a step measures how many contexts there are."""
    model = attach_adapter(data.policy.model, run.settings.adapter)
    for step in range(1, run.settings.steps + 1):
        run.metrics.add(step, {"loss": float(len(data.contexts))})
        run.progress(step, run.settings.steps, "toy")
    return model


def test_a_trainer_is_added_by_its_row_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "toy", TOY)
    settings = SMALL.model_copy(update={"algorithm": "toy", "epochs": 1})
    history, samples = align(Job(chats(4), splits(train=["chat-0"], test=["chat-3"]), None, settings, 0, tmp_path))
    # Three sessions of three turns are learned from, four turns a step.
    assert [row["value"] for row in history.to_pylist() if row["metric"] == "loss"] == [9.0] * 3 and len(samples) == 2
    assert "tags: [apportion, lora, toy, tiny, synthetic]" in (tmp_path / "README.md").read_text()
    assert settings.model_copy(update={"clip": 0.1}).unread == ("clip",)
    assert readers("epochs") == "kto, sft and toy" and unrewarded() == "sft or toy"


def test_a_row_whose_code_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "toy", Algorithm("toy", "", "nowhere:train", frozenset(), needs_reward=False))
    settings = SMALL.model_copy(update={"algorithm": "toy"})
    with pytest.raises(InputError, match=r"'toy': cannot load 'nowhere:train'.* Correct its row"):
        align(Job(chats(2), splits(train=["chat-0"]), None, settings, 0, tmp_path))


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=lambda row: row.name)
def test_a_row_names_code_and_settings_that_exist(row):
    assert callable(load_named(row.train, row.name, "")) and row.help
    assert row.reads - {"lora.dropout"} < set(AlignSettings.model_fields)
    assert AlignSettings(algorithm=row.name, num_generations=2).trainer is row


def test_names_are_listed_in_words():
    assert listed(("a",)) == "a" and listed(("a", "b", "c"), "or") == "a, b or c"
    assert readers("max_turns") == "ppo and grpo" and readers("lora.dropout") == "sft"


class ShortSettings(Settings):
    """How short is best."""

    NOT_IN_KEY = frozenset({"tries"})

    length: int = Field(default=4, ge=1)
    tries: int = 1


class Short:
    """Rewards replies near a length; knows the job that it is made for, and the contexts, as a game would."""

    history = staticmethod(no_history)

    def __init__(self, job, settings):
        self.seed, self.length, self.asked = job.seed, settings.length, []

    def __call__(self, contexts, histories, replies):
        self.asked += [context.session_id for context in contexts]
        return [-abs(len(reply) - self.length) / 10 for reply in replies]


def echo(job, settings, episodes, history):
    return Echo()


class Echo:
    """Says back what it hears, one dialogue at a time."""

    closed = 0
    heard = 0

    def answer(self, context, replies):
        Echo.heard += 1
        return f"{replies[-1]}?" if len(replies) < 3 else None

    def history(self, context, replies):
        return f"{context.session_id} {len(replies)}"

    def close(self):
        Echo.closed += 1


HERE = "tests.rlhf.test_algorithms"
SHORT = Plugin("short", "Short replies", f"{HERE}:Short", settings=f"{HERE}:ShortSettings")
ECHO = Plugin("echo", "An echo", f"{HERE}:echo")


@pytest.fixture
def installed(monkeypatch):
    found = {
        REWARDS.group: {"short": EntryPoint("short", f"{HERE}:SHORT", REWARDS.group)},
        PARTNERS.group: {"echo": EntryPoint("echo", f"{HERE}:ECHO", PARTNERS.group)},
    }
    monkeypatch.setattr(registry, "points_of", lambda group: found.get(group, {}))
    return found


def settings(**changes):
    return AlignSettings.model_validate({**SMALL.model_dump(), **changes})


def test_what_is_chosen_where_nothing_is_said_is_no_part_of_a_key():
    assert settings().chosen == {}
    assert settings().reward_by.name == "reward_model" and settings().partner_by.name == "recorded"


def test_a_package_s_reward_trains_without_a_reward_model(tmp_path, installed):
    chosen = settings(reward="short", reward_settings={"length": 6})
    job = Job(chats(4), SPLITS, None, chosen, 7, tmp_path / "policy")
    reward = load_reward(job)
    assert (type(reward).__name__, reward.seed, reward.length) == ("Short", 7, 6)
    _, samples = align(job)
    assert samples["reward_after"].to_pylist() == [
        pytest.approx(-abs(len(reply) - 6) / 10) for reply in samples["after"].to_pylist()
    ]
    card = (tmp_path / "policy" / "README.md").read_text()
    told = json.loads(card.split("```json\n")[1].split("```")[0])
    assert told["reward"] == {"name": "short", "settings": {"length": 6}, "version": 1}
    assert "against the\nreward `short`" in card


def test_a_package_s_partner_answers_one_at_a_time_and_is_closed(tmp_path, installed):
    Echo.closed = Echo.heard = 0
    chosen = settings(reward="short", partner="echo", max_turns=3, max_context_tokens=160)
    align(Job(chats(4), SPLITS, None, chosen, 0, tmp_path / "policy"))
    assert Echo.closed == 1 and Echo.heard > chosen.batch_size
    assert answers(Echo(), [(None, ["a"]), (None, ["a", "b", "c"])]) == ["a?", None]


def test_its_settings_are_part_of_what_it_is_but_those_that_do_not_count(installed):
    one = settings(reward="short").chosen
    assert one == {"reward": {"name": "short", "version": 1, "settings": {"length": 4}}}
    assert settings(reward="short", reward_settings={"tries": 3}).chosen == one
    assert settings(reward="short", reward_settings={"length": 5}).chosen != one


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"reward": "shrt"},
            r"no reward 'shrt'; did you mean 'short'\? Allowed: reward_model, outcome, .*, stackelberg, lspo, short",
        ),
        ({"partner": "ech", "max_turns": 2}, r"no partner 'ech'; did you mean 'echo'\?"),
        (
            {"reward": "short", "reward_settings": {"lenght": 3}},
            r"'short': lenght: unknown key; did you mean 'length'\?",
        ),
        ({"reward": "short", "reward_settings": {"length": 0}}, r"'short': length = 0: Input should be greater"),
        ({"reward_settings": {"length": 3}}, r"'reward_model': length: unknown key; allowed are outcome"),
        ({"reward": "outcome", "reward_settings": {"length": 3}}, r"'outcome' takes no settings, and is given length"),
        ({"reward": "short", "reward_method": "rrd"}, "asks no reward model; take out reward_model and reward_method"),
        ({"reward": "short", "refresh_fit": 5}, "refresh_fit = 5 does not go with reward = 'short'; take one of them"),
        ({"reward": "short", "sd_penalty": 0.5}, "reward = 'short' has no sd; take out sd_penalty"),
        ({"reward": "short", "reward_ensemble": ["a"]}, "take out reward_model and reward_method, or reward_ensemble"),
        ({"reward_method": "a", "reward_ensemble": ["b"]}, "reward_method and reward_ensemble name one each"),
        ({"reward_join": "min"}, "reward_join = 'min' joins reward_ensemble; name that"),
        (
            {"reward_join": "min", "reward_ensemble": ["a"], "sd_penalty": 1},
            "reward_join = 'min' takes no sd_penalty; take that out",
        ),
        ({"partner": "echo"}, "partner = 'echo' answers between turns, max_turns is 1; raise that"),
        ({"prompts": "p.jsonl", "max_turns": 2}, "partner = 'recorded' has recorded nothing after prompts"),
        ({"partner": "policy", "max_turns": 2}, r"'policy': policy: missing; add it"),
        (
            {"partner": "language-model", "max_turns": 2, "partner_settings": {"modle": "x"}},
            r"'language-model': modle: unknown key; did you mean 'model'",
        ),
    ],
)
def test_what_cannot_be_chosen_is_told(installed, changes, problem):
    with pytest.raises(ValidationError, match=problem):
        settings(**changes)


def test_what_a_package_names_wrongly_is_told(installed):
    installed[REWARDS.group]["short"] = EntryPoint("short", "math:pi", REWARDS.group)
    with pytest.raises(ValidationError, match=r"is 3\.14\d*; it must be an apportion\.rlhf\.plugins\.Plugin"):
        settings(reward="short")
    wrong = Plugin("short", "Short", "nowhere:make", settings="math:pi")
    with pytest.raises(InputError, match=r"'short': 'math:pi' is no class of settings"):
        wrong.checked({})
    with pytest.raises(InputError, match=r"'short': cannot load 'nowhere:make'"):
        wrong.make()


def test_the_recorded_partner_is_found_by_its_name():
    episodes = chats(2)
    made = settings(max_turns=2).partner_by.make(None, None, episodes, no_history)
    assert isinstance(made, RecordedPartner)


def test_algorithms_that_read_neither_say_so():
    assert settings(algorithm="sft", reward="reward_model", mini_batch_size=4).unread is not None
    given = AlignSettings(algorithm="sft", batch_size=4, mini_batch_size=4, prompts="p.jsonl")
    assert "prompts" in given.unread
