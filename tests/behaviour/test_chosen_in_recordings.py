import json

import numpy as np

from tests.behaviour.command import in_process
from tests.behaviour.small import write_small_corpus
from tests.features.clips import tone, write_wav

CONFIG = """corpus = "corpus"
output = "run"
[decompose]
methods = ["uniform", "sentiment"]
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
