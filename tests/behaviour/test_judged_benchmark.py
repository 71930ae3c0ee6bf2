import json

import pytest

from apportion.corpus.corpus import Corpus
from benchmarks.sources import CORPORA, JUDGED
from tests.behaviour.command import in_process
from tests.shared import shared

METHODS = ("llm", "reaction", "llm-student")
SESSIONS = 20


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CORPORA))
def test_recorded_replies_stand_in_for_the_model_and_who_has_none_is_told_in_one_line(name, tmp_path, monkeypatch):
    read, file, rating = CORPORA[name]
    source = shared(f"data/{file}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Corpus.of(tmp_path / name, read(source, {}).tables).write(tmp_path / name)
    ids = Corpus.open(tmp_path / name).session_ids()
    judged = (JUDGED / f"{name}.sessions.txt").read_text(encoding="utf-8").split()
    unknown = next(session_id for session_id in ids if session_id not in judged)
    (tmp_path / "ids.txt").write_text("\n".join([*judged[:SESSIONS], unknown]))
    asked = [part for method in METHODS for part in ("--method", method)]
    done = in_process(
        monkeypatch, "benchmark", name, "-c", JUDGED / f"{name}.toml", *asked, "--seeds", 1, "--workers", 1,
        "--sessions", tmp_path / "ids.txt",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "no recorded reply" in line]
    assert len(lines) == 1 and f"session {unknown}, {rating} of" in lines[0]
    figures = json.loads((tmp_path / "runs" / f"benchmark-{name}" / "benchmark.json").read_text())
    assert set(figures["methods"]) == set(METHODS)
    told = {row["method"]: row["spearman"] for row in figures["evaluation"]["decompositions"]}
    assert all(told[method].get("value") is not None for method in METHODS), told
