import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from random import Random

import pytest

from tests.postgres import cluster
from tests.viewer.study.served import study_served

REASON = "I would talk to A again, since it listens and asks. The others do not."


def files(study):
    return sorted(study.study.path.glob("answers.sqlite*"))


def test_a_database_that_is_away_and_comes_back(study, tmp_path):
    caller = study.begun()
    page = caller.get("item/1")
    reason = f'"<&>\n{REASON}'  # With what HTML minds.
    pairs = [*page.forms.hidden(), *page.forms.answers(Random(1), reason)]
    aside = tmp_path / "aside"
    aside.mkdir()
    held = files(study)
    for path in held:
        path.rename(aside / path.name)
    away = caller.post("item/1", pairs)
    assert away.status == 503 and "Your answer is not saved" in away.text and "is saved." not in away.text
    assert caller.get("item/1").status == 503 and caller.get("thanks").status == 503
    assert caller.get("item/1").headers["retry-after"] == "10"
    assert sorted(away.forms.hidden()) == sorted(pairs)
    assert caller.post("item/1", away.forms.hidden()).status == 503
    for path in held:
        (aside / path.name).rename(path)
    again = caller.post("item/1", away.forms.hidden())
    assert again.path == "/item/2" and "Your answer to the practice is saved" in again.text
    (row,) = study.store.answers()
    assert row.reason == reason and row.revision == 1


def test_a_file_that_another_program_has_locked_is_told_to_all_who_save_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.study.store.database.WAIT_S", 0.2)
    with study_served(tmp_path / "study", items_per_annotator=3, checks_every=3) as study:
        callers = [study.begun(name) for name in study.tokens]
        pages = [caller.get("item/1") for caller in callers]
        sent = [[*page.forms.hidden(), *page.forms.answers(Random(1), REASON)] for page in pages]
        with closing(sqlite3.connect(study.study.path / "answers.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with ThreadPoolExecutor(len(callers)) as pool:
                away = list(pool.map(lambda caller, pairs: caller.post("item/1", pairs), callers, sent))
            other.execute("ROLLBACK")
        assert [page.status for page in away] == [503] * 3
        assert all("Your answer is not saved" in page.text and str(tmp_path) not in page.text for page in away)
        again = [caller.post("item/1", page.forms.hidden()) for caller, page in zip(callers, away, strict=True)]
        assert {page.path for page in again} == {"/item/2"}
        assert [row.reason for row in study.store.answers()] == [REASON] * 3


@pytest.mark.slow
def test_a_server_of_postgresql_that_is_away_and_comes_back(tmp_path):
    with (
        cluster() as server,
        study_served(tmp_path / "study", items_per_annotator=3, checks_every=3, database=server.database()) as study,
    ):
        caller = study.begun()
        page = caller.get("item/1")
        server.stop()
        away = caller.post("item/1", [*page.forms.hidden(), *page.forms.answers(Random(1), REASON)])
        server.start()
        assert away.status == 503 and "Your answer is not saved" in away.text
        assert "postgresql" not in away.text and "Traceback" not in away.text
        assert caller.post("item/1", away.forms.hidden()).path == "/item/2"
        assert [row.reason for row in study.store.answers()] == [REASON]


def test_a_fault_that_nobody_foresaw_keeps_what_was_written(study, monkeypatch):
    caller = study.begun()
    page = caller.get("item/1")
    pairs = [*page.forms.hidden(), *page.forms.answers(Random(1), REASON)]
    monkeypatch.setattr("apportion.study.store.store.checked", lambda *_: 1 / 0)
    failed = caller.post("item/1", pairs)
    assert failed.status == 500 and "Your answer is not saved" in failed.text and "division" not in failed.text
    monkeypatch.undo()
    assert caller.post("item/1", failed.forms.hidden()).path == "/item/2"
    assert [row.reason for row in study.store.answers()] == [REASON]
