import json
import shutil

import pytest

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.viewer.data.run_location import open_place
from tests.behaviour.small import write_small_corpus


@pytest.fixture
def run(viewed_run, tmp_path):
    """A copy of the run and its corpus, moved together."""
    shutil.copytree(viewed_run.parent, tmp_path / "moved", ignore=shutil.ignore_patterns("viewer"))
    return tmp_path / "moved" / "run"


def change(run, **more):
    record = json.loads((run / "run.json").read_text())
    record |= more
    (run / "run.json").write_text(json.dumps({name: value for name, value in record.items() if value is not None}))


def test_a_folder_and_its_configuration_are_the_same_run(run):
    place = open_place(run)
    assert place.corpus.resolve() == run.parent / "corpus" and place.title == "run"
    assert open_place(run.parent / "config.toml").folder == place.folder


def test_a_run_of_an_older_version_needs_its_corpus(run):
    change(run, corpus=None)
    (run / "corpus.path").unlink()
    with pytest.raises(InputError, match=r"older version, which does not say where its corpus is\. Add --corpus"):
        open_place(run)
    assert open_place(run, run.parent / "corpus").corpus == run.parent / "corpus"


def test_a_run_moved_without_its_corpus_finds_it_and_remembers_another(viewed_run, run, tmp_path):
    (run.parent / "corpus").rename(tmp_path / "elsewhere")
    assert open_place(run).corpus == viewed_run.parent / "corpus"
    for given in (tmp_path / "elsewhere", None):
        assert open_place(run, given).corpus == tmp_path / "elsewhere"
    (run / "corpus.path").write_bytes(b"\xff\0")
    with pytest.raises(InputError, match=r"there is no folder now"):
        open_place(run)


def test_what_is_no_run_is_named(run, tmp_path):
    with pytest.raises(InputError, match=r"none: no such folder\. Name a run folder, or the configuration"):
        open_place(tmp_path / "none")
    with pytest.raises(InputError, match=r"no run\.json"):
        open_place(tmp_path)
    (tmp_path / "text.toml").write_text("a =")
    with pytest.raises(InputError, match=r"text\.toml"):
        open_place(tmp_path / "text.toml")
    (run / "run.json").write_text("[]")
    with pytest.raises(InputError, match=r"not the record of a run"):
        open_place(run)


def test_an_empty_run_is_named(run):
    change(run, sessions=0)
    with pytest.raises(InputError, match=r"an empty run: it has no sessions"):
        open_place(run)


def test_a_corpus_that_is_gone_or_another_is_refused(run, tmp_path):
    with pytest.raises(InputError, match=r"none: no such folder\. Name the corpus"):
        open_place(run, tmp_path / "none")
    other = write_small_corpus(tmp_path / "other", sessions=11)
    with pytest.raises(InputError, match=r"not the utterances that the run .* was made from"):
        open_place(run, other)
    shutil.rmtree(run.parent / "corpus")
    (run / "corpus.path").unlink()
    with pytest.raises(InputError, match=r"its corpus was at .*, where there is no folder now"):
        open_place(run)


def test_the_fingerprint_changes_with_any_file_and_with_nothing_else(run):
    place = open_place(run)
    first = place.fingerprint()
    (run / "viewer").mkdir(exist_ok=True)  # There already where the run that was copied is being served.
    (run / "viewer" / "sessions.sqlite").write_bytes(b"")
    assert place.fingerprint() == first
    (run / "projections" / "uniform-seed0.json").touch()
    second = place.fingerprint()
    Corpus.open(place.corpus).write(place.corpus)
    assert len({first, second, place.fingerprint()}) == 3
    (run / "run.json").unlink()
    with pytest.raises(InputError, match=r"the run is no longer there"):
        place.fingerprint()
