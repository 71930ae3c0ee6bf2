import pytest

from apportion.study.store.store import Store
from tests.study.studies import study_in


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where answers are kept: a file, and a database of a server."""
    if request.param == "sqlite":
        return tmp_path / "answers.sqlite"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def study(tmp_path):
    return study_in(tmp_path / "study", "pairs", items_per_annotator=4, checks_every=2, contexts=4)


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(place, study, clock):
    opened = Store.open(place, study, clock)
    yield opened
    opened.close()
