"""A study that is served in this process, as `apportion study serve` does."""

from collections.abc import Iterator

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `study` is not installed")

from tests.viewer.study.served import ServedStudy, study_served


@pytest.fixture
def study(tmp_path) -> Iterator[ServedStudy]:
    """A study of LLM-GELI's nine criteria with three annotators' links: practice, then three items and a check."""
    with study_served(tmp_path / "study", items_per_annotator=3, checks_every=3) as running:
        yield running


@pytest.fixture
def public(tmp_path) -> Iterator[ServedStudy]:
    """The same with a public link for three people."""
    with study_served(
        tmp_path / "study", items_per_annotator=3, checks_every=3, public=True, public_limit=3
    ) as running:
        yield running
