import importlib.util
import math
import struct
import sys
import types
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.tiny_policy import build_tiny, train_tokenizer
from apportion.rlhf.training.tracking import check_event_folder, check_tensorboard, check_wandb, event_files, wandb_run
from tests.rlhf.ppo.test_ppo import METRICS, by_length, trainer
from tests.rlhf.toy import ANSWERS, QUESTIONS, SMALL, chats, episode, quiet


def points(folder: Path) -> dict[tuple[str, int], float]:
    """(metric, step) to value, read from the files' records: length, checksum, event, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found = {}
    for path in sorted(folder.iterdir()):
        content, at = path.read_bytes(), 0
        while at < len(content):
            (length,) = struct.unpack_from("<Q", content, at)
            event = Event.FromString(content[at + 12 : at + 12 + length])
            found.update({(value.tag, event.step): value.simple_value for value in event.summary.value})
            at += 16 + length
    return found


def test_every_metric_of_every_step_is_there(tmp_path):
    history = Metrics()
    with event_files(tmp_path / "events") as watch:
        ppo = trainer(by_length)
        ppo.run(Run(ppo.settings, 0, history, quiet, watch=tuple(watch)))
    expected = {(f"align/{metric}", step): value for step, metric, value in history.rows}
    found = points(tmp_path / "events")
    assert found.keys() == expected.keys() and {name.removeprefix("align/") for name, _ in found} == METRICS
    assert all(found[key] == pytest.approx(value, rel=1e-6, abs=1e-7) for key, value in expected.items())


def test_no_folder_writes_nothing():
    with event_files(None) as watch:
        assert watch == ()


def test_a_missing_package_is_named_with_the_command_that_brings_it(tmp_path, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "apportion.foundation.optional_packages.find_spec", lambda name: None if name == "tensorboardX" else real(name)
    )
    with pytest.raises(InputError, match=r"needs tensorboardX.*pip install 'apportion\[tensorboard\]'"):
        check_tensorboard()
    with pytest.raises(InputError, match="tensorboardX"), event_files(tmp_path / "events"):
        pass
    assert not (tmp_path / "events").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        InputError, match=r"run\.tensorboard = .*file/events.*: cannot be written .*Name a folder of yours"
    ):
        check_event_folder(tmp_path / "file" / "events", "run.tensorboard")
    check_event_folder(tmp_path / "events")
    assert not list((tmp_path / "events").iterdir())


class FakeWandb(types.ModuleType):
    """Stands for the package wandb; nothing is sent anywhere."""

    def __init__(self, trouble: Exception | None = None) -> None:
        super().__init__("wandb")
        self.trouble = trouble
        self.calls: list[tuple[str, object]] = []

    def Settings(self, **options):  # noqa: N802
        return options

    def init(self, **options):
        if self.trouble:
            raise self.trouble
        self.calls.append(("init", options["project"]))
        return self

    def log(self, values, step):
        self.calls.append((f"log {step}", values))

    def finish(self, exit_code):
        self.calls.append(("finish", exit_code))


@pytest.fixture
def fake(monkeypatch):
    module = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: True)
    return module


def test_every_metric_of_every_step_is_sent_and_a_failed_run_is_closed_as_failed(fake, tmp_path):
    with wandb_run("mine", tmp_path / "files", SMALL, 0) as (watch,):
        watch(1, {"reward": 0.5, "kl": 0.0})
        watch(2, {"reward": 0.75})
    assert fake.calls == [
        ("init", "mine"),
        ("log 1", {"align/reward": 0.5, "align/kl": 0.0}),
        ("log 2", {"align/reward": 0.75}),
        ("finish", 0),
    ]
    assert (tmp_path / "files").is_dir()
    with pytest.raises(KeyboardInterrupt), wandb_run("mine", tmp_path / "files", SMALL, 0):
        raise KeyboardInterrupt
    assert fake.calls[-1] == ("finish", 1)


def test_no_project_sends_nothing(fake, tmp_path):
    with wandb_run(None, tmp_path / "files", SMALL, 0) as watch:
        assert watch == ()
    assert fake.calls == [] and not (tmp_path / "files").exists()


def test_what_keeps_it_from_starting_is_told(fake, tmp_path):
    fake.trouble = RuntimeError("api_key not configured\n(no-tty)")
    with (
        pytest.raises(
            InputError, match=r"does not start \(RuntimeError: api_key not configured \(no-tty\)\).*wandb log"
        ),
        wandb_run("mine", tmp_path, SMALL, 0),
    ):
        pass


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs wandb. Install it with `pip install 'apportion\[wandb\]'`"):
        check_wandb()


def test_the_real_package_keeps_a_run_on_this_machine_where_it_is_told_to(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="the extra `wandb` is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    with wandb_run("mine", tmp_path / "files", SMALL, 0) as (watch,):
        watch(1, {"reward": 0.5})
    (kept,) = (tmp_path / "files").rglob("*.wandb")
    assert b"align/reward" in kept.read_bytes()


def test_any_text_can_be_written_and_read_back():
    tokenizer = train_tokenizer([*QUESTIONS, *ANSWERS], 320)
    text = "naïve 你好 \U0001f600 <x>\n  tab\t"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    assert len(tokenizer) <= 320


def test_equal_seeds_build_equal_policies():
    def weights(seed: int) -> list[torch.Tensor]:
        return list(build_tiny(chats(4), SMALL, seed).model.state_dict().values())

    one, two, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_warming_up_learns_the_dialogues():
    longer = SMALL.model_copy(update={"tiny": SMALL.tiny.model_copy(update={"warmup_steps": 60, "warmup_batch": 4})})
    losses = {}
    policy = build_tiny(chats(4), longer, 0, losses.__setitem__)
    assert losses[60] < 0.3 * losses[1]
    prompt = torch.tensor([render([ContextTurn("user", QUESTIONS[1])], policy.tokenizer, reply_follows=True)])
    said = policy.model.eval().generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20)
    assert policy.tokenizer.decode(said[0, prompt.shape[1] :], skip_special_tokens=True) in ANSWERS


@settings(max_examples=4, deadline=None)
@given(st.integers(1, 25))
@example(10)
def test_any_number_of_steps_warms_up(steps):
    few = SMALL.model_copy(update={"tiny": SMALL.tiny.model_copy(update={"warmup_steps": steps})})
    losses = {}
    build_tiny(chats(2), few, 0, losses.__setitem__)
    assert math.isfinite(losses[steps])


@pytest.mark.parametrize("lines", [[], [("ann", " "), ("bot", "")]])
def test_no_text_to_warm_up_on_is_an_error(lines):
    with pytest.raises(UnitError, match="no text outside the test sessions"):
        build_tiny([episode("s", lines)], SMALL, 0)


def test_only_the_target_ever_speaks_is_an_error():
    with pytest.raises(UnitError, match="no dialogue outside the test sessions answers anybody"):
        build_tiny([episode("s", [("bot", "hello")])], SMALL, 0)
