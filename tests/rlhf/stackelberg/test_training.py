import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.cli import main
from apportion.decompose.influence.scorer import LogprobResult
from apportion.environments.collect_episodes import play
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from apportion.rlhf.policy.folder import WINDOW_FILE
from apportion.rlhf.stackelberg import training as module
from apportion.rlhf.stackelberg.persuasion_eval.table import PersuasionQuery, persuade
from apportion.rlhf.stackelberg.refiner import TrainedRefiner
from apportion.rlhf.stackelberg.settings import RefineSettings
from apportion.rlhf.stackelberg.training import EpochKeeper, epoch_folders, read_settings, train_refiner
from apportion.rlhf.stackelberg.validation import session_of, split
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.forked import Tell, ended, forked
from tests.llm_client.openai_server import serving
from tests.rlhf.stackelberg.round_table import round_table
from tests.rlhf.stackelberg.tiny import training


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refiner")
    return train_refiner(read_settings(training(folder)))


def test_a_training_leaves_a_refiner_after_each_epoch_and_a_curve(trained):
    assert [path.name for path in epoch_folders(trained.folder)] == ["1", "2"]
    assert [row.epoch for row in trained.curve] == [0, 1, 2] and trained.turns == 4
    assert len({row.unrefined for row in trained.curve}) == 1
    assert trained.last["kl"] >= 0
    last = digest(trained.folder / "adapter_model.safetensors")
    assert digest(epoch_folders(trained.folder)[1] / "adapter_model.safetensors") == last
    assert digest(epoch_folders(trained.folder)[0] / "adapter_model.safetensors") != last


def test_a_trained_refiner_plays_around_any_agent(trained):
    game = Negotiation(Context((2, 2, 1), ((2, 1, 4), (1, 4, 0))))
    game.reset(3)
    name = f"fair+refiner@{trained.folder}"
    assert ROSTER.called_as(name, ModelSpec()) == name
    refined = ROSTER.scripted(name)
    assert refined.called == name and not refined.paid
    play(game, {"Alice": refined, "Bob": ROSTER.scripted("fair")})
    first = next(move for moves in game.steps for move in moves if move.agent == "Alice")
    # Its window has no room for this game: the words stay as they were.
    assert first.act.text and first.act.data is not None
    assert json.loads((trained.folder / WINDOW_FILE).read_text())["max_context_tokens"] == 320


@dataclass(frozen=True)
class Short:
    """A view that its window has room for."""

    text: str
    number: int = 5


def test_a_trained_refiner_says_the_same_for_the_same_step_and_needs_no_follower(trained):
    refiner = TrainedRefiner(str(trained.folder))
    words = [refiner.refined(Short("You are player 1."), f"Say {number}.") for number in range(4)]
    assert words == [refiner.refined(Short("You are player 1."), f"Say {number}.") for number in range(4)]
    assert all(words) and words != [f"Say {number}." for number in range(4)]


def test_followers_answers_are_compared_epoch_by_epoch(trained, monkeypatch):
    monkeypatch.setattr("apportion.rlhf.stackelberg.persuasion_eval.table.ANSWER_TOKENS", 8)
    found = persuade(PersuasionQuery(trained.folder, follower=str(trained.folder.parent / "measurer"), count=3))
    assert [row.epoch for row in found.rows] == ["unrefined", 0, 1, 2]
    assert all(-1 <= row.desired <= 1 and -1 <= row.undesired <= 1 for row in found.rows)
    assert found.rows[0].nearer is None and found.rows[1].nearer is None
    for row in found.rows[2:]:
        assert row.nearer.low <= row.nearer.mean <= row.nearer.high
        mean = np.mean([line["similarity"] for line in found.lines() if line["epoch"] == row.epoch])
        assert mean == pytest.approx(row.desired)
    lines = (trained.folder / "persuasion.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == found.lines()


def test_another_training_in_the_same_folder_is_refused(trained):
    settings = read_settings(trained.folder.parent / "refine.toml")
    with pytest.raises(InputError, match="another training is there"):
        train_refiner(settings.model_copy(update={"seed": 1}))


def test_a_training_whose_turns_have_changed_is_not_gone_on_with(trained):
    path = trained.folder.parent / "turns.jsonl"
    kept, was = path.read_text(), (trained.folder / "learned.jsonl").read_bytes()
    try:
        path.write_text(kept.replace("I vote for player 3.", "I vote for player 4."))
        with pytest.raises(InputError, match="began with other turns than"):
            train_refiner(read_settings(trained.folder.parent / "refine.toml"))
    finally:
        path.write_text(kept)
    assert (trained.folder / "learned.jsonl").read_bytes() == was


@pytest.mark.parametrize("text", ["[]", "{", "7"])
def test_a_damaged_card_is_no_training_to_go_on_with(trained, text):
    card = trained.folder / "refiner.json"
    kept = card.read_text()
    try:
        card.write_text(text)
        with pytest.raises(InputError, match="another training is there"):
            train_refiner(read_settings(trained.folder.parent / "refine.toml"))
    finally:
        card.write_text(kept)


@pytest.mark.slow
def test_a_mistake_in_the_first_file_can_be_corrected_in_the_same_folder(tmp_path):
    path = training(tmp_path)
    right = path.read_text().replace("epochs = 2", "epochs = 1")
    path.write_text(right.replace('model = "measurer"', 'model = "./nowhere"'))
    with pytest.raises(InputError, match="no such folder"):
        train_refiner(read_settings(path))
    assert (tmp_path / "refiner" / "refiner.json").is_file()
    path.write_text(right)
    assert train_refiner(read_settings(path)).turns == 4


class Indifferent:
    """Every answer is as likely after whatever was said."""

    def measure(self, prompts, replies):
        shape = (len(prompts), len(replies))
        return LogprobResult(np.full(shape, -3.0), np.ones(shape, np.int64))


def test_candidates_that_are_worth_the_same_teach_nothing_and_give_no_nan(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.rlhf.stackelberg.reward.load_scorer", lambda settings, cache=None: Indifferent())
    monkeypatch.setattr(module, "load_scorer", lambda settings, cache=None: Indifferent())
    path = training(tmp_path)
    path.write_text(path.read_text().replace("epochs = 2", "epochs = 1"))
    trained = train_refiner(read_settings(path))
    assert all(np.isfinite(value) for value in trained.last.values())
    assert trained.last["kl"] == pytest.approx(0, abs=1e-5) and trained.last["reward"] == 0


def test_a_server_that_gives_no_probabilities_is_told_before_anything_is_trained(tmp_path):
    with serving(ProbabilityServer(gives=False)) as server:
        path = training(tmp_path)
        text = path.read_text().replace(
            '[measurer]\nmodel = "measurer"',
            f"""[measurer.server]
model = "m"
base_url = "{server.url}"
max_retries = 0""",
        )
        path.write_text(text)
        with pytest.raises(InputError, match="without the probabilities of the prompt's tokens"):
            train_refiner(read_settings(path))
    assert not (tmp_path / "refiner" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("instances = [", "not valid TOML"),
        ("output = 'x'", "instances: missing"),
        ("instances = ['a.jsonl']\nepoch = 3", "epoch: unknown key"),
        ("instances = ['a.jsonl']\n[align]\nreward = 'x'", "align.reward follows from the training itself"),
        ("instances = ['a.jsonl']\n[align]\nnum_generations = 7", "holds no whole number of groups"),
        ("instances = ['a.jsonl']\n[impact]\nform = 'other'", "form"),
        ("instances = ['a.jsonl']\n[impact]\nlongest_words = 100", "is not above free_words 100"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path, text, told):
    (tmp_path / "refine.toml").write_text(text)
    with pytest.raises(InputError, match=told):
        read_settings(tmp_path / "refine.toml")


def test_an_output_that_is_a_file_is_told(tmp_path):
    path = training(tmp_path)
    (tmp_path / "refiner").write_text("x")
    with pytest.raises(InputError, match="a file, where output"):
        train_refiner(read_settings(path))


def test_the_defaults_are_the_papers():
    settings = RefineSettings(instances=("turns.jsonl",)).align_settings(Path("turns.jsonl"), 1)
    assert (settings.algorithm, settings.num_generations, settings.clip) == ("grpo", 8, 0.2)
    assert (settings.learning_rate, settings.divergence_weight, settings.lora.r) == (1e-6, 0.04, 16)
    assert settings.policy == "Qwen/Qwen2.5-7B-Instruct" and not settings.score_norm and settings.ppo_epochs == 1
    assert settings.scale_rewards
    assert RefineSettings(instances=("turns.jsonl",)).epochs == 3


def trained_by_command(tell: Tell, config: Path) -> None:
    main(["train", "refiner", str(config)])


@pytest.mark.slow
def test_killed_and_gone_on_with_it_is_the_same_adapter(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train_refiner(read_settings(training(whole, 12)))
    config = training(killed, 12)
    # In the warm-up, in the steps, and at the end of an epoch.
    for wanted in ("base", "step-000002", "step-000004"):
        with forked(trained_by_command, config) as (process, _):
            while not (killed / "refiner" / "checkpoints" / wanted).exists():
                assert process.is_alive()
                time.sleep(0.02)
            process.kill()
    ended(trained_by_command, config)
    for name in ("adapter_model.safetensors", "epochs/1/adapter_model.safetensors", "curve.json"):
        assert digest(killed / "refiner" / name) == digest(whole / "refiner" / name), name


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@given(st.integers(4, 40), st.floats(0, 0.99), st.integers(0, 5))
def test_whole_sessions_are_held_out_and_something_is_left_to_learn_from(count, share, seed):
    turns = round_table(count)
    learned, unseen = split(turns, share, seed)
    assert sorted(one.name for one in (*learned, *unseen)) == sorted(one.name for one in turns) and learned
    assert not {session_of(one) for one in learned} & {session_of(one) for one in unseen}
    assert (learned, unseen) == split(turns, share, seed)
    assert not unseen if share == 0 or count <= 4 else unseen


def checkpoint(root, step):
    folder = root / f"step-{step:06d}"
    folder.mkdir(parents=True)
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (folder / name).write_text(f"{name} of {step}")
    return folder


def test_the_last_step_of_each_epoch_is_kept_once(tmp_path):
    keeper = EpochKeeper(tmp_path / "checkpoints", tmp_path / "out", 3)
    keeper.keep()  # Nothing is there yet.
    reported = []
    progress = keeper.watched(lambda *told: reported.append(told))
    for step in range(1, 8):
        checkpoint(tmp_path / "checkpoints", step)
        progress(step, 7, "x")
    assert [path.name for path in epoch_folders(tmp_path / "out")] == ["1", "2"] and len(reported) == 7
    kept = tmp_path / "out" / "epochs" / "2" / "adapter_model.safetensors"
    assert kept.read_text() == "adapter_model.safetensors of 6"
    kept.write_text("another")
    keeper.keep()
    assert kept.read_text() == "another"


def test_what_else_a_policy_needs_stands_beside_each_epoch(tmp_path):
    keeper = EpochKeeper(tmp_path / "checkpoints", tmp_path / "out", 1)
    checkpoint(tmp_path / "checkpoints", 1)
    keeper.keep()
    (tmp_path / "out" / "epochs" / "tmp.left").mkdir()
    for name in ("tokenizer.json", "window.json", "adapter_config.json"):
        (tmp_path / "out" / name).write_text("whole")
    (tmp_path / "out" / "base").mkdir()
    (folder,) = keeper.finish()
    assert sorted(path.name for path in folder.iterdir()) == [
        *("adapter_config.json", "adapter_model.safetensors", "base", "tokenizer.json", "window.json")
    ]
    assert (folder / "adapter_config.json").read_text() == "adapter_config.json of 1" and (folder / "base").is_dir()
    assert not (tmp_path / "out" / "epochs" / "tmp.left").exists()


@pytest.mark.parametrize("name", ["x", "1a", "tmp.1"])
def test_only_numbered_folders_are_epochs(tmp_path, name):
    (tmp_path / "epochs" / name).mkdir(parents=True)
    assert epoch_folders(tmp_path) == []
