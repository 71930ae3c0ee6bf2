import json
from pathlib import Path

import pytest

from tests.apportion.called import saying
from tests.behaviour.command import apportion
from tests.features.clips import flat, tone, write_movie, write_wav
from tests.shared import shared


@pytest.fixture
def voice(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_wav(tmp_path / "voice.wav", tone(2.0, 150))


run = saying("probe")


def test_a_table_a_picture_and_the_next_command(capsys, voice):
    code, out, _ = run(capsys, "voice.wav")
    assert code == 0
    assert "voice.wav: audio (pcm_f32le), from 0.00 to 2.00 s" in out
    f0 = next(line.split() for line in out.splitlines() if line.startswith("f0_hz"))
    assert (float(f0[1]), f0[2]) == (pytest.approx(150, abs=1), "Hz")
    assert "wrote voice.probe.png" in out and "next: apportion import media" in out
    assert Path("voice.probe.png").read_bytes().startswith(b"\x89PNG")
    first = Path("voice.probe.png").read_bytes()
    assert run(capsys, "voice.wav")[0] == 0
    assert Path("voice.probe.png").read_bytes() == first


def test_json_is_one_object_and_nothing_else(tmp_path, capsys, monkeypatch):
    path = write_movie(tmp_path / "a.mp4", [flat()] * 50, sound=tone(2.0, 150))
    done = apportion("probe", path, "--json", "--start", "0.5", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["file"], told["start_s"], told["png"]) == (str(path), 0.5, None)
    assert told["end_s"] == pytest.approx(2.0, abs=0.1)
    assert set(told["features"]["f0_hz"]) == {"mean", "coverage", "unit"}
    assert told["features"]["smile"] == {"mean": None, "coverage": 0.0, "unit": "of the time"}
    assert told["events"]["nod_yes"] == {"count": 0, "per_minute": None, "at": []}
    assert told["settings"]["pitch_floor_hz"] is None
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]
    monkeypatch.chdir(tmp_path)
    assert (
        json.loads(run(capsys, path, "--json", "--png", "b.png")[1])["png"] == "b.png"
        and (tmp_path / "b.png").is_file()
    )


def test_the_reference_figures(capsys):
    code, out, err = run(
        capsys, shared("media/pyannote_sample.wav"), "--json", "--pitch-floor", "75", "--pitch-ceiling", "500"
    )
    told = json.loads(out)["features"]
    assert (code, err) == (0, "")
    assert told["f0_hz"]["mean"] == pytest.approx(198.10, abs=0.05)
    assert told["jitter_local"]["mean"] == pytest.approx(0.01241, abs=0.0001)


def test_options_and_configuration_are_settings(capsys, voice):
    Path("a.toml").write_text('corpus = "gone"\noutput = "run"\n[features]\njitter = "disvoice"\npitch_floor_hz = 60\n')
    code, out, _ = run(capsys, "voice.wav", "--json", "--config", "a.toml", "--pitch-ceiling", "300")
    told = json.loads(out)
    assert (code, "jitter_disvoice" in told["features"]) == (0, True)
    used = told["settings"]
    assert (used["pitch_floor_hz"], used["pitch_ceiling_hz"], used["detector"]) == (60.0, 300.0, "haar")


def test_a_model_names_its_detector(capsys, voice):
    write_movie(Path("a.mp4"), [flat()] * 25)
    run.refuses(capsys, "gone.onnx: no such file", "a.mp4", "--yunet-model", "gone.onnx")
    run.refuses(capsys, "gone.task", "a.mp4", "--landmarker-model", "gone.task")
    assert run(capsys, "a.mp4", "--detector", "haar", "--yunet-model", "gone.onnx")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone.wav",), "no such file"),
        ((".",), "is a folder"),
        (("text.mp4",), "cannot be opened as a recording"),
        (("empty.mp4",), "the file is empty"),
        (("voice.wav", "--start", "5"), "ends at 2.00 s"),
        (("voice.wav", "--start", "1", "--end", "1"), "must be later than start"),
        (("voice.wav", "--channel", "left"), "no picture to halve"),
        (("voice.wav", "--png", "none/a.png"), "cannot be written (No such file or directory)"),
        (("voice.wav", "--png", "voice.wav"), "must end in .png"),
        (("voice.wav", "--png", "folder.png"), "a folder"),
        (("voice.wav", "--pitch-floor", "900"), "--pitch-floor = 900.0"),
        (("voice.wav", "--pitch-floor", "290", "--pitch-ceiling", "200"), "must be above pitch_floor_hz"),
        (("voice.wav", "--config", "gone.toml"), "gone.toml: no such file"),
        (("a.mp4", "--emotion-model", "gone.onnx"), "gone.onnx"),
        (("a.mp4", "--detector", "mediapipe"), "landmarker_model"),
    ],
)
def test_what_cannot_be_done_is_told(capsys, voice, arguments, message):
    Path("text.mp4").write_text("hello")
    Path("empty.mp4").touch()
    Path("folder.png").mkdir()
    write_movie(Path("a.mp4"), [flat()] * 25)
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err and err.startswith("error: ")
    assert sorted(Path().iterdir()) == before


def test_the_recording_is_never_replaced(capsys, voice):
    voice.rename("voice.png")
    content = Path("voice.png").read_bytes()
    run.refuses(capsys, "the recording itself", "voice.png", "--png", "voice.png")
    assert Path("voice.png").read_bytes() == content


def test_a_disk_that_fills_up_is_told(capsys, voice, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apportion.commands.shared.places.write_atomically", full)
    run.refuses(capsys, "voice.probe.png: cannot be written (No space left on device)", "voice.wav")


def test_a_name_cannot_speak_to_the_terminal(capsys, voice):
    voice.rename("a\x1b[31m.wav")
    code, out, _ = run(capsys, "a\x1b[31m.wav", "--png", "a.png")
    assert (code, "\x1b" in out) == (0, False)
