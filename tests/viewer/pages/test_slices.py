import json
import shutil
from dataclasses import replace

import pytest

from apportion.evaluation.error_slices.find import find_slices
from apportion.evaluation.error_slices.result import ErrorSlices, SliceSettings
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.slices import html, slices_view
from tests.evaluation.error_slices.planted import corpus

EVIL = '<script>alert(1)</script> "quoted" \u202eturned javascript:alert(2)'


@pytest.fixture(scope="module")
def found() -> ErrorSlices:
    turns, _ = corpus(0, sessions=300, cost=1.0)
    return find_slices(turns, "sentiment", SliceSettings(resamples=200))


@pytest.fixture
def run(server, tmp_path) -> ServedRun:
    """The run of all tests in a folder of its own, with the index that it has."""
    shutil.copytree(server.run.place.folder, tmp_path / "run")
    return ServedRun(replace(server.run.place, folder=tmp_path / "run"), server.run.index)


def write(run: ServedRun, document: object, name: str = "sentiment") -> None:
    folder = run.place.folder / "slices"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document))


def test_kinds_with_their_figures_and_turns(run, found):
    write(run, found.to_json())
    page = html(run, Links("slices"))
    for kind in found.kinds:
        assert kind.name in page and f"{kind.sessions.value:.0%}" in page
        for example in kind.examples:
            address = f'href="session/{example.id.episode[0]}?method=sentiment#turn-{example.id.turn}"'
            assert address in page
    assert page.count('<svg class="interval low"') == sum(kind.difference.value < 0 for kind in found.kinds)
    assert f"{len(found.kinds)} of them held in the other 150." in page


def test_what_people_said_is_escaped(run, found):
    document = found.to_json()
    document["kinds"][0] |= {"name": EVIL, "mostly": [EVIL]}
    document["kinds"][0]["examples"][0] |= {"text": EVIL, "session_id": EVIL}
    document["method"] = EVIL
    write(run, document)
    page = html(run, Links("slices"))
    assert "<script>alert" not in page and "\u202e" not in page and 'href="javascript' not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_each_method_has_its_own_and_an_unknown_one_is_the_usual(run, found):
    write(run, found.to_json())
    write(run, replace(found, method="uniform", kinds=()).to_json(), "uniform")
    none = html(run, Links("slices"), "uniform")
    assert "No kind of turn stands out." in none and "150 sessions in a half are too few to tell" in none
    assert "at least 12 sessions of either half" in none and "by luck is at most 5%" in none
    assert "Worth less than the rest" in html(run, Links("slices"), "none such")


def test_nobody_has_looked_yet(run):
    assert "This run has no slices." in html(run, Links("slices"))


def test_why_nothing_can_be_said(run, found):
    write(run, replace(found, kinds=(), reason="20 sessions have rewards").to_json())
    assert "20 sessions have rewards" in html(run, Links("slices"))


@pytest.mark.parametrize("kinds", [[{}], [None], "x", [{"name": 1, "difference": {"value": "x"}}]])
def test_a_damaged_file_is_told(run, found, kinds):
    write(run, found.to_json() | {"kinds": kinds})
    assert "is damaged. Run `apportion run` again." in html(run, Links("slices"))


def test_an_example_leads_to_the_rating_that_it_is_of(found):
    example = found.kinds[0].examples[0].id
    view = slices_view({"m": found.to_json()}, "m", "m", {}, {example.episode: 3})
    shown = next(kind for kind in (*view["dear"], *view["good"]) if kind["name"] == found.kinds[0].name)
    assert next(one["place"] for one in shown["examples"]) == 3
