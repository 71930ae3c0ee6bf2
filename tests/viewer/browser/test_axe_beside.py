"""axe-core over the pages Label and Compare, with all that can stand beside a run: nothing serious."""

from __future__ import annotations

import pytest

from apportion.viewer.data.run_location import beside
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.viewer.browser.test_axe import serious
from tests.viewer.pages.test_compare import audit, responses, run_of
from tests.viewer.runs import served

ASKED = "who=Eve&ask=landing"
PAGES = (
    "label", "label?session=s03&shown=true", f"label?{ASKED}",
    f"label/s03?{ASKED}", f"label/s03?{ASKED}&shown=true", "label/s03?who=Eve&ask=fine",
    "compare", "compare/people", "compare/audit", "compare/policies",
)  # fmt: skip


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_serious_is_found(full, page_of, path, dark):
    for width in (390, 1440):
        page = page_of(full, path, width=width, dark=dark, bypass_csp=True)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        if f"label/s03?{ASKED}" in path:
            page.locator("#turn-1 button[aria-pressed]").last.click()
            page.locator("#turn-1 .back").wait_for()
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
