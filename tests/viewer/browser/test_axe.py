import json

import pytest
from axe_playwright_python.sync_playwright import Axe

from apportion.evaluation.error_slices.find import find_slices
from apportion.evaluation.error_slices.result import SliceSettings
from apportion.viewer.data.run_location import beside
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.evaluation.error_slices.planted import corpus
from tests.viewer.pages.test_compare import audit, responses, run_of
from tests.viewer.runs import served, write_report, write_viewed_run

PAGES = ("", "?q=platform", "?q=nothing-like-it", "session/s03", "session/none", "slices", "report")
ASKED = "who=Eve&ask=landing"
BESIDE = (
    "label", "label?session=s03&shown=true", f"label?{ASKED}",
    f"label/s03?{ASKED}", f"label/s03?{ASKED}&shown=true", "label/s03?who=Eve&ask=fine",
    "compare", "compare/people", "compare/audit", "compare/policies",
)  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A server of a run in which somebody has looked for slices."""
    run = write_viewed_run(tmp_path_factory.mktemp("axe"))
    found = find_slices(corpus(0, sessions=300, cost=1.0)[0], "sentiment", SliceSettings(resamples=200))
    (run / "slices").mkdir()
    (run / "slices" / "sentiment.json").write_text(json.dumps(found.to_json()))
    write_report(run)
    with served(run) as running:
        yield running


@pytest.fixture(scope="module")
def full(viewed_run, tmp_path_factory):
    """A server of a run with questions, another run, an audit and responses."""
    folder = tmp_path_factory.mktemp("full")
    place, other = run_of(folder / "first", viewed_run), run_of(folder / "second", viewed_run)
    audit(place.folder)
    overlay = Overlay(overlay_beside(place.folder))
    for scale, name in (("1 to 5", "landing"), ("0 to 100", "fine")):
        overlay.ask(question_on(scale, name))
    around = beside(place, None, other, responses(folder / "responses.parquet"))
    with served(place.folder, place.corpus, around) as running:
        yield running


def serious(page) -> list[str]:
    """What axe-core calls serious or critical: the rule and the first element that breaks it."""
    page.wait_for_load_state()  # A click has led on, perhaps to a page that has no root yet.
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0].get('failureSummary', '')[:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", [*PAGES, *BESIDE])
def test_nothing_serious_is_found(request, page_of, watched, path, dark):
    watched.allowed += ["404"] if path in PAGES else []
    for width in (390, 1440):
        server = request.getfixturevalue("told" if path in PAGES else "full")
        page = page_of(server, path, width=width, dark=dark, bypass_csp=True)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        if f"label/s03?{ASKED}" in path:
            page.locator("#turn-1 button[aria-pressed]").last.click()
            page.locator("#turn-1 .back").wait_for()
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_kind_of_turn_is_a_click_from_its_conversation(told, page_of, watched):
    watched.allowed.append("404")  # The made-up kinds are of sessions that this run does not have.
    page = page_of(told, "slices", width=390, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("summary").first.click()
    with page.expect_navigation():
        page.locator(".examples a").first.click()
    assert "/session/s0" in page.url and "#turn-" in page.url
