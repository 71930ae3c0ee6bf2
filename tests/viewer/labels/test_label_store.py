import errno
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from apportion.foundation.errors import InputError
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.behaviour.command import environment
from tests.viewer.labels.given import LANDING, label

WRITER = """
import sys
from pathlib import Path
from tests.viewer.labels.given import LANDING, label
from apportion.viewer.labels.label_store import Overlay
path, who, many = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
overlay = Overlay(path)
overlay.ask(LANDING)
for turn in range(many):
    overlay.add(label(turn=turn, value=float(turn % 5 + 1), annotator=who))
    print(turn, flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return overlay_beside(tmp_path / "run")


def asked(path):
    overlay = Overlay(path)
    overlay.ask(LANDING)
    return overlay


def writer(path, who, many):
    command = [sys.executable, "-c", WRITER, str(path), who, str(many)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)


def test_labels_stand_beside_the_run_and_the_last_one_counts(path):
    overlay = asked(path)
    assert path.name == "run.labels.jsonl"
    overlay.add(label(value=2.0))
    overlay.add(label(value=5.0), label(turn=3, value=1.0), label(annotator="max", value=3.0))
    overlay.add(label(turn=3, value=None))
    standing = Overlay(path).labels().standing
    assert {(key[1], key[2]): one.value for key, one in standing.items()} == {(1, "eve"): 5.0, (1, "max"): 3.0}
    assert len(path.read_text().splitlines()) == 6, "nothing is ever taken away"


def test_who_has_seen_rewards_stays_so_and_is_written_once(path):
    overlay = asked(path)
    for _ in range(2):
        overlay.see("s0", "eve")
    overlay.see("s1", "eve")
    assert Overlay(path).labels().seen == {("s0", "eve"), ("s1", "eve")}
    assert len(path.read_text().splitlines()) == 3
    with pytest.raises(InputError, match="computed:eve"):
        overlay.see("s0", "computed:eve")


def test_what_another_viewer_has_written_is_seen(path):
    one, other = asked(path), Overlay(path)
    assert other.labels().questions == {"landing": LANDING}
    one.add(label())
    assert list(other.labels().standing) == [label().key]
    path.unlink()
    assert other.labels().standing == {}, "the file was taken away"
    asked(path)
    one.add(label(turn=5))
    assert [key[1] for key in other.labels().standing] == [5]


def test_several_processes_write_at_once_and_every_label_is_there(path):
    writers = [writer(path, who, 40) for who in ("eve", "max", "kim")]
    said = [process.communicate()[0].split() for process in writers]
    assert [len(turns) for turns in said] == [40, 40, 40]
    held = Overlay(path).labels()
    assert len(held.standing) == 120 and held.unfinished == ()


def test_threads_of_one_viewer_write_at_once(path):
    overlay = asked(path)

    def write(who):
        for turn in range(25):
            overlay.add(label(turn=turn, annotator=who))
            overlay.labels()

    threads = [threading.Thread(target=write, args=(f"p{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Overlay(path).labels().standing) == 100


@pytest.mark.parametrize("after", [1, 23])
def test_killed_with_9_no_label_is_lost_that_was_confirmed(path, after):
    process = writer(path, "eve", 100_000)
    confirmed = [int(process.stdout.readline()) for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    confirmed += [int(line) for line in process.stdout.read().split()]
    process.wait()
    standing = Overlay(path).labels().standing
    assert {key[1] for key in standing} >= set(confirmed)
    Overlay(path).add(label(turn=999_999, annotator="max"))
    assert len(Overlay(path).labels().standing) == len(standing) + 1, "the next one writes on"


@pytest.mark.parametrize("kept", range(1, 30, 4))
def test_a_line_that_was_cut_gets_a_line_of_its_own_and_is_told(path, kept):
    overlay = asked(path)
    overlay.add(label())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"label","annotator":"eve"'[:kept])
    assert Overlay(path).labels().unfinished == (), "it may still be being written"
    Overlay(path).add(label(turn=3))
    held = Overlay(path).labels()
    assert {key[1] for key in held.standing} == {1, 3}
    assert held.unfinished == (3,)


def test_a_disk_that_is_full_leaves_the_file_as_it_was_and_nobody_is_told(path, monkeypatch):
    overlay = asked(path)
    before = path.read_bytes()
    real = os.write

    def full(descriptor, data):
        if len(data) > 20:
            return real(descriptor, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", lambda d, data: full(d, data) if len(data) > 60 else full(d, data[:10]))
    with pytest.raises(InputError, match=r"run\.labels\.jsonl: labels cannot be written \(No space left"):
        overlay.add(label())
    monkeypatch.undo()
    assert path.read_bytes() == before
    overlay.add(label())
    assert len(Overlay(path).labels().standing) == 1


def test_the_disk_has_a_label_before_it_is_confirmed(path, monkeypatch):
    overlay = asked(path)
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(path.read_bytes()), real(descriptor))[1])
    overlay.add(label())
    assert len(synced) == 1 and synced[0] == path.read_bytes()


def test_a_name_has_one_question_and_one_scale_whoever_comes_first(path):
    asked(path)
    Overlay(path).ask(LANDING)
    with pytest.raises(InputError, match="labels called 'landing' answer 'How did this turn land\\?' from 1 to 5 by 1"):
        Overlay(path).ask(question_on("1 to 7", "landing"))
    with pytest.raises(InputError, match="asks nothing called 'landing' on a scale from 0 to 1"):
        Overlay(path).add(label(value=1.0, low=0.0, high=1.0))
    with pytest.raises(InputError, match=r"2\.5 is no answer"):
        Overlay(path).add(label(value=2.5))
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"kind": "other"}', "neither a label nor a question"),
        ('{"kind": "seen", "session_id": "s0"}', "field annotator: text is needed"),
        ('{"kind": "seen", "session_id": 7, "annotator": "eve"}', "field session_id: text is needed"),
        ("[1]", "neither a label nor a question"),
        (json.dumps({"kind": "label", **label().to_json(), "turn": "x"}), "field turn"),
        (json.dumps({"kind": "question", **LANDING.to_json(), "low": 9.0}), "has to be below"),
    ],
)
def test_a_line_that_is_whole_and_no_label_is_refused_by_its_number(path, line, said):
    overlay = asked(path)
    overlay.labels()
    with path.open("a") as file:
        file.write(f"{line}\n")
    for _ in range(2):  # What was read before is not read again, and the line's number stays.
        with pytest.raises(InputError, match=f"line 2: not as the viewer writes it \\(.*{said}"):
            overlay.labels()


def test_a_number_that_no_machine_holds_is_refused_by_its_line(path):
    Overlay(path).ask(LANDING)
    path.write_text(path.read_text().replace('"high":5.0', '"high":1' + "0" * 400))
    with pytest.raises(InputError, match=r"line 1: not as the viewer writes it .*too large"):
        Overlay(path).labels()


def test_a_folder_or_a_pipe_is_no_place_for_labels(tmp_path):
    with pytest.raises(InputError, match="a folder, and labels are kept in a file"):
        Overlay(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe or a device"):
        Overlay(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be written"):
        Overlay(tmp_path / "gone" / "x.labels.jsonl").ask(LANDING)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said(path):
    asked(path)
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        Overlay(path).labels()


def test_only_its_owner_may_read_what_people_said(path):
    asked(path)
    assert path.stat().st_mode & 0o077 == 0
