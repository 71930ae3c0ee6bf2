"""A study's report in Chromium: no console error, nothing serious for axe-core, nothing wider than a telephone."""

import pytest

from study.report.page import as_html
from tests.study.report.hostile import hostile_report
from tests.viewer.browser.test_axe import serious


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "report.html").write_text(as_html(hostile_report(folder)), encoding="utf-8")
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_it_can_be_read_by_everybody(report, browser, dark, width):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", bypass_csp=True
    )
    page = context.new_page()
    faults = []
    page.on("console", lambda said: faults.append(said.text))
    page.on("dialog", lambda shown: faults.append(shown.message))
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == [] and faults == []
    context.close()
