import time
from pathlib import Path

import pytest

from apportion.foundation.files import file_digest
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.llm_client.cache.test_leases import rows
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import TEXT as LLM_TEXT
from tests.pipeline.llm_run import good, write_run

TEXT = (
    'corpus = "corpus"\noutput = "{}"\n[run]\nworkers = 1\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'
)


@pytest.fixture
def apportion(monkeypatch):
    return lambda *arguments: in_process(monkeypatch, *arguments, OPENAI_API_KEY="a key")


def tree(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file with its content's hash and the time of its last change, every folder without."""
    paths = sorted(folder.rglob("*"))
    return {
        path.relative_to(folder).as_posix(): (file_digest(path), path.stat().st_mtime_ns) if path.is_file() else ("", 0)
        for path in paths
    }


def test_a_damaged_artifact_is_made_anew_by_a_run_and_left_alone_by_a_dry_run(tmp_path, apportion):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    path = config(tmp_path, TEXT.format("run"))
    assert apportion("run", "--only", "decompose", path).returncode == 0
    whole = tree(tmp_path / "run" / "store" / "judge")
    tables = sorted((tmp_path / "run" / "store" / "judge").rglob("*.parquet"))
    tables[0].write_bytes(tables[0].read_bytes()[:-1])
    (tables[1].parent / "manifest.json").write_text("{")
    (tables[2].parent / "manifest.json").unlink()
    before = tree(tmp_path)
    for options in (("--dry-run",), ("--dry-run", "--json")):
        done = apportion("run", "--only", "decompose", path, *options)
        assert done.returncode == 0, done.stderr
        assert tree(tmp_path) == before
    assert '"units": 12,\n   "finished": 9' in done.stdout
    again = apportion("run", "--only", "decompose", path, "--json")
    assert again.returncode == 0 and '"done": 3,\n   "reused": 9' in again.stdout
    now = tree(tmp_path / "run" / "store" / "judge")
    assert {name: digest for name, (digest, _) in now.items()} == {name: digest for name, (digest, _) in whole.items()}


def test_a_dry_run_of_recordings_remembers_nothing(tmp_path, apportion):
    done = apportion("demo", "--output", tmp_path / "run", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_looking_at_a_run_that_never_was_makes_no_folder_for_it(tmp_path, apportion):
    write_run(tmp_path)
    with serving(OpenAIServer(answer=good)) as server:
        path = config(tmp_path, LLM_TEXT.format(server.url, "m"))
        before = tree(tmp_path)
        for options in (("--dry-run",), ("--dry-run", "--budget", "1"), ("--dry-run", "--batch"), ("--preview", 2)):
            done = apportion("run", "--only", "decompose", path, *options)
            assert done.returncode == 0, done.stderr
            assert tree(tmp_path) == before


def test_neither_a_dry_run_nor_a_preview_changes_the_reply_cache(tmp_path, apportion):
    write_run(tmp_path)
    with serving(OpenAIServer(answer=good)) as server:
        path = config(tmp_path, LLM_TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path).returncode == 0
        while rows(tmp_path / "run" / "llm_cache.sqlite", "askers"):
            time.sleep(0.05)  # The run's client lives on in this process, and gives back its share of the limits.
        asked, before = server.answered, tree(tmp_path)
        for options in (("--dry-run",), ("--dry-run", "--batch"), ("--preview", 2)):
            done = apportion("run", "--only", "decompose", path, *options)
            assert done.returncode == 0, done.stderr
            assert tree(tmp_path) == before and server.answered == asked


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("corpus", "the corpus itself, whose tables a run would write over"),
        ("elsewhere/../corpus", "the corpus itself"),
        ("link", "the corpus itself"),
        ("corpus/run", "inside the corpus"),
        (".", "around the corpus"),
    ],
)
def test_a_run_folder_that_is_not_beside_the_corpus_is_refused(tmp_path, apportion, output, words):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    (tmp_path / "link").symlink_to(tmp_path / "corpus")
    path = config(tmp_path, TEXT.format(output))
    before = tree(tmp_path)
    for options in ((), ("--dry-run",)):
        done = apportion("run", "--only", "decompose", path, *options)
        assert done.returncode == 2 and words in done.stderr and "beside the corpus" in done.stderr
    assert tree(tmp_path) == before
