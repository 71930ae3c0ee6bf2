import json

import numpy as np

from tests.behaviour.command import in_process
from tests.behaviour.small import write_small_corpus
from tests.features.clips import tone, write_wav

CONFIG = """corpus = "corpus"
output = "run"
[decompose]
method = "sentiment"
compare = ["uniform"]
"""


def test_a_channel_that_was_chosen_is_a_warning_of_the_run(tmp_path, monkeypatch):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=6)
    planes = np.zeros((6, 16000))
    planes[2] = tone(1.0)
    write_wav(corpus / "u.wav", planes)
    rows = [{"session_id": f"s0{n}", "speaker": "user", "kind": "audio", "path": "u.wav"} for n in (0, 3)]
    (corpus / "media.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    path = tmp_path / "c.toml"
    path.write_text(CONFIG)
    texts = [
        f"chosen in a recording: session s0{n}: u.wav: its sound has 6 channels (5.1): the centre, 2, is taken. "
        "Name another in the media table's column channel."
        for n in (0, 3)
    ]
    for _ in range(2):  # A second run, which measures nothing anew, says it again.
        done = in_process(monkeypatch, "run", path, "--until", "verbalize")
        assert done.returncode == 0, done.stderr
        for text in texts:
            assert done.stdout.count(f"warning: {text}") == 1
            assert text in json.loads((tmp_path / "run" / "run.json").read_text())["warnings"]
            assert "session s00: u.wav" in (tmp_path / "run" / "report.html").read_text()


def test_a_line_a_person_ends_a_run_and_what_an_import_chose_is_told_again(tmp_path, monkeypatch):
    folder = tmp_path / "src" / "s1"
    folder.mkdir(parents=True)
    cues = "00:00.000 --> 00:00.900\n<v ann>Hello there.\n\n00:01.000 --> 00:09.000\n<v bob>One two three four.\n"
    (folder / "talk.vtt").write_text(f"WEBVTT\n\n{cues}")
    (folder / "ratings.csv").write_text("rater,target,name,score,low,high\nann,bob,fun,4,1,5\n")
    write_wav(folder / "ann.wav", np.zeros(16000 * 9))
    for name in ("bob.wav", "bob.flac"):
        write_wav(folder / name, tone(2.0))
    done = in_process(monkeypatch, "import", "media", tmp_path / "src", tmp_path / "corpus")
    assert done.returncode == 0, done.stdout
    path = tmp_path / "c.toml"
    path.write_text(CONFIG)
    done = in_process(monkeypatch, "run", path, "--only", "features")
    said = done.stdout
    assert "recorded: session s1: ann: sound 0 %, words 2 of 2 inside the recording" in said
    assert "recorded: session s1: bob: sound 100 %, words 1 of 4 inside the recording" in said
    assert "warning: chosen in a recording: session s1: ann: media/s1/ann.wav: the sound is silent" in said
    assert "session s1: bob: 3 of 4 words lie outside media/s1/bob.flac, which runs from 0.0 to 2.0 s" in said
    assert "session s1: bob has two sound files: bob.flac is used and bob.wav is not" in said
