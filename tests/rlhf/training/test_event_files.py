from __future__ import annotations

import importlib.util
import struct
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.tracking import check_event_folder, check_tensorboard, event_files
from tests.rlhf.ppo.test_ppo import METRICS, by_length, trainer
from tests.rlhf.toy import quiet


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
        trainer(by_length).run(history, quiet, watch=watch)
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
