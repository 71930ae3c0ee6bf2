import pytest

from tests.corpus.importers.candor_tree import talk, write_tree


@pytest.fixture
def talks():
    """Two made-up conversations of CANDOR."""
    return [talk(1), talk(2)]


@pytest.fixture
def candor(tmp_path, talks):
    """The two in a folder each, without recordings."""
    return write_tree(tmp_path / "src", talks, media=False)
