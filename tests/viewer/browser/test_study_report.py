import pytest

from apportion.study.planning import Plan, as_page, planned
from apportion.study.report.page import as_html
from tests.study.report.hostile import hostile_report
from tests.viewer.browser.test_axe import serious


@pytest.fixture(scope="module", params=["report", "power"])
def page_file(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    html = as_html(hostile_report(folder)) if request.param == "report" else as_page(planned(Plan()))
    (folder / "page.html").write_text(html, encoding="utf-8")
    return folder / "page.html"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_it_can_be_read_by_everybody(page_file, browser, dark, width):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", bypass_csp=True
    )
    page = context.new_page()
    faults = []
    page.on("console", lambda said: faults.append(said.text))
    page.on("dialog", lambda shown: faults.append(shown.message))
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == [] and faults == []
    context.close()
