"""A bundle in a real browser, from a disk: no error, no request but for its own files."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from viewer.bundle import write_bundle


@pytest.fixture(scope="module")
def bundle(server, tmp_path_factory):
    out = tmp_path_factory.mktemp("bundle") / "pages"
    write_bundle(server.run.place, out)
    return out


def test_from_the_list_to_a_session_and_back(bundle, page_at):
    page = page_at((bundle / "index.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sessions 12")
    page.get_by_role("link", name="s03").first.click()
    expect(page.get_by_text("Hello, I need some help.")).to_be_visible()
    page.get_by_role("link", name="What costs us").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What costs us")
    page.get_by_role("link", name="Sessions", exact=True).click()
    assert page.locator("tbody tr").count() == 12


def test_what_cannot_be_asked_of_files_is_not_offered(bundle, page_at):
    page = page_at((bundle / "index.html").as_uri())
    assert page.get_by_role("search").count() == 0 and page.locator("thead a").count() == 0


def test_dark_and_narrow(bundle, page_at):
    page = page_at(
        (bundle / "session" / "s03.html").as_uri(), color_scheme="dark", viewport={"width": 390, "height": 800}
    )
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_axe_finds_nothing_serious(bundle, page_at):
    for name in ("index.html", "session/s03.html", "patterns.html"):
        page = page_at((bundle / name).as_uri())
        found = Axe().run(page, options={"preload": False}).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], name
