import shutil

import pytest
from sqlalchemy import text

from apportion.foundation.errors import InputError
from apportion.study.store.database import Database
from apportion.study.store.rows import Answer, DatabaseAwayError
from apportion.study.store.store import Store
from tests.study.studies import answers_to


def begun(store):
    (link,) = store.add_links(1)
    store.agree(link.annotator)
    item = store.places(link.annotator)[0]
    return link.annotator, item, Answer(answers_to(store.study.criteria, store.study.items[item]))


def test_sqlite_confirms_what_is_on_the_disk_and_is_readable_for_its_owner_alone(tmp_path):
    database = Database(tmp_path / "answers.sqlite")
    with database.writing() as connection:
        pragmas = [connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    database.close()


def test_postgresql_confirms_what_is_on_the_disk(postgres):
    database = Database(postgres.database())
    with database.writing() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    assert "told-to-nobody" not in database.name and database.name.startswith("postgresql+psycopg://tests:***@")
    database.close()


def test_a_block_that_fails_writes_nothing(place):
    database = Database(place)
    with pytest.raises(ValueError, match="no"), database.writing() as connection:
        connection.execute(text("INSERT INTO study VALUES (1, 'digest', 1)"))
        raise ValueError("no")
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM study")).scalar_one() == 0
    database.close()


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("mysql://me:secret@host/db", "the database mysql://…: not understood"),
        ("sqlite://", "answers in memory would be gone"),
        ("sqlite:///:memory:", "answers in memory would be gone"),
        (
            "postgresql://me:secret@127.0.0.1:1/db",
            r"postgresql\+psycopg://me:\*\*\*@127\.0\.0\.1:1/db: .* cannot be opened",
        ),
        ("://", "not understood"),
        ("postgresql:/me:secret@host/db", "the database postgresql://…: not understood"),
        ("postgres+psycopg:me:secret@host/db", "not understood"),
    ],
)
def test_a_database_that_cannot_be_opened_is_told_without_its_password(place, told):
    with pytest.raises(InputError, match=told) as error:
        Database(place)
    assert "secret" not in str(error.value)


def test_a_path_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        Database(tmp_path / "none" / "answers.sqlite")


def test_an_url_of_sqlite_is_its_path(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/answers.sqlite")
    assert database.name == str(tmp_path / "answers.sqlite")
    database.close()


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_file_that_goes_away_confirms_nothing(tmp_path, study, comes_back):
    place = tmp_path / "answers.sqlite"
    store = Store.open(place, study)
    name, item, answer = begun(store)
    place.rename(tmp_path / "elsewhere")
    for ask in (lambda: store.save(name, item, answer, 0, "page1"), store.answers, lambda: store.next_place(name)):
        with pytest.raises(DatabaseAwayError, match="was taken away while it was in use"):
            ask()
    if comes_back:
        (tmp_path / "elsewhere").rename(place)
        assert store.save(name, item, answer, 0, "page1").revision == 1
    else:
        shutil.copy(tmp_path / "elsewhere", place)
        with pytest.raises(DatabaseAwayError, match="begin again"):
            store.answers()
    store.close()


def test_a_writer_does_not_wait_behind_another_one_for_longer_than_it_may(tmp_path, monkeypatch):
    """Else those who wait for a file that is locked would be told one after the other."""
    monkeypatch.setattr("apportion.study.store.database.WAIT_S", 0.05)
    database = Database(tmp_path / "answers.sqlite")
    told = pytest.raises(DatabaseAwayError, match=r"others have written for 0\.05 s\. Nothing was confirmed")
    with database.writing(), told, database.writing():
        pass
    with database.writing() as connection:
        assert connection.execute(text("SELECT count(*) FROM study")).scalar_one() == 0
    database.close()


@pytest.mark.slow
def test_a_server_that_goes_away_confirms_nothing_and_is_found_again_when_it_is_back(postgres, study):
    store = Store.open(postgres.database(), study)
    name, item, answer = begun(store)
    postgres.stop()
    try:
        with pytest.raises(DatabaseAwayError, match="cannot be reached or written") as told:
            store.save(name, item, answer, 0, "page1")
        assert "told-to-nobody" not in str(told.value)
    finally:
        postgres.start()
    saved = store.save(name, item, answer, 0, "page1")
    assert store.answers() == [saved]
    store.close()


@pytest.mark.parametrize("content", [b"x", b"notes of mine\n" * 100])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path, content):
    (tmp_path / "notes").write_bytes(content)
    with pytest.raises(InputError, match="notes: this file is no database, and is left as it is"):
        Database(tmp_path / "notes")
    assert (tmp_path / "notes").read_bytes() == content
