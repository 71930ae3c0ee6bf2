import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.stackelberg.training import EpochKeeper, epoch_folders
from apportion.rlhf.stackelberg.validation import session_of, split
from tests.rlhf.stackelberg.round_table import round_table


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
