import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from apportion.viewer.bundle import write_bundle
from apportion.viewer.data.listing import Query, listing
from apportion.viewer.data.run_location import beside, open_place
from tests.viewer.browser.test_session import READY, TIME, until
from tests.viewer.pages.test_compare import audit, responses, run_of
from tests.viewer.runs import HOSTILE_IDS, write_hostile_run


@pytest.fixture(scope="module")
def bundle(viewed_run, tmp_path_factory):
    """All pages, with an audit and responses."""
    folder = tmp_path_factory.mktemp("bundle")
    place = run_of(folder / "run", viewed_run)
    audit(place.folder)
    write_bundle(place, folder / "pages", around=beside(place, responses=responses(folder / "responses.parquet")))
    return folder / "pages"


@pytest.fixture
def listed(bundle, page_at):
    """The list, once its script is ready."""

    def open_list(**more):
        page = page_at((bundle / "index.html").as_uri(), **more)
        expect(page.get_by_role("search")).to_be_visible()
        return page

    return open_list


def test_from_the_list_to_a_session_and_back(bundle, page_at):
    page = page_at((bundle / "index.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sessions 12")
    page.get_by_role("link", name="s03").first.click()
    expect(page.get_by_text("Hello, I need some help.")).to_be_visible()
    page.get_by_role("link", name="What costs us").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What costs us")
    page.get_by_role("link", name="Sessions", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(12)


@pytest.mark.parametrize(
    "text",
    [
        "platform",
        "platform tw",
        '"platform two"',
        "help -platform",
        "s07",
        "USER hello",
        "zzz",
        "pláTform",
        "trainé plat",
        "well-known",
        "plat-",
        "-",
        '"',
    ],
)
def test_a_search_finds_what_the_viewer_finds(server, listed, text):
    expected = [row.session_id for row in listing(server.run.index, Query(text=text)).rows]
    page = listed()
    page.get_by_label("Search what was said").fill(text)
    expect(page.locator("#results")).to_have_attribute("data-shown", f"{text}||false|session")
    assert (
        page.locator("tbody .c-session bdi")
        .filter(has_text="s")
        .evaluate_all("all => all.filter(one => one.closest('a')).map(one => one.textContent)")
        == expected
    )
    expect(page.get_by_text("No session is like that.")).to_be_visible(visible=not expected)


def test_what_was_found_is_marked_and_leads_to_its_turn(listed):
    page = listed()
    page.keyboard.press("/")
    page.keyboard.type("platform")
    found = page.locator(".excerpt").first
    expect(found).to_contain_text("The train leaves at nine from platform two.")
    expect(found.locator("mark")).to_have_text("platform")
    found.click()
    expect(page.locator(page.url[page.url.index("#") :])).to_contain_text("platform two")


def test_it_is_sorted_and_narrowed_and_goes_back_to_what_it_was(listed):
    page = listed()
    rows = page.locator("tbody").inner_html()
    page.get_by_role("button", name="Score").click()
    expect(page.locator("th.c-score")).to_have_attribute("aria-sort", "ascending")
    scores = [float(text) for text in page.locator("td.c-score b").all_inner_texts()]
    assert scores == sorted(scores) and len(scores) == 12
    page.get_by_role("button", name="Score").click()
    expect(page.locator("th.c-score")).to_have_attribute("aria-sort", "descending")
    assert [float(text) for text in page.locator("td.c-score b").all_inner_texts()] == sorted(scores, reverse=True)
    page.get_by_role("combobox", name="Split").select_option("test")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("combobox", name="Split").select_option("")
    page.get_by_role("button", name="Session").click()
    expect(page.locator("tbody tr")).to_have_count(12)
    assert page.locator("tbody").inner_html() == rows


def test_without_scripts_the_list_is_there_and_offers_nothing_that_it_cannot_do(listed, bundle, page_at):
    page = page_at((bundle / "index.html").as_uri(), java_script_enabled=False)
    expect(page.locator("tbody tr")).to_have_count(12)
    assert not page.get_by_role("search").is_visible() and page.locator("thead :is(a, button)").count() == 0


def test_what_is_compared_is_chosen_by_links_and_leads_to_a_turn(bundle, page_at):
    page = page_at((bundle / "index.html").as_uri())
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.locator("nav.choice")).to_have_count(0)  # Two methods are one pair.
    page.locator(".c-apart a").first.click()
    expect(page.locator(page.url[page.url.index("#") :])).to_be_visible()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("link", name="Against people").click()
    page.locator("nav.choice a").last.click()
    assert page.url.endswith("compare/people~~number-1.html")
    page.locator("svg.scatter a").first.locator("circle").click(force=True)
    expect(page.locator(page.url[page.url.index("#") :])).to_be_visible()
    page = page_at((bundle / "compare" / "policies.html").as_uri())
    expect(page.locator(".pair-of").first).to_contain_text("nothing")
    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_text("It holds.")).to_be_visible()


def test_recordings_that_were_asked_for_play_with_their_waves(talk_run, tmp_path, page_at):
    write_bundle(open_place(talk_run), tmp_path / "pages", media=True)
    page = page_at((tmp_path / "pages" / "session" / "talk.html").as_uri())
    until(page, READY)
    page.locator("#turn-6 .said").click()
    until(page, f"Math.abs({TIME} - 12) < 0.05")
    expect(page.locator(".wave-line")).to_have_count(2)
    expect(page.locator(".wave-line").first).to_be_visible()
    expect(page.locator(".line.track").first).to_contain_text("Pitch")


def test_hostile_strings_run_nothing(tmp_path, page_at):
    write_bundle(open_place(write_hostile_run(tmp_path)), tmp_path / "pages")
    shutil.rmtree(tmp_path / "corpus")
    page = page_at((tmp_path / "pages" / "index.html").as_uri())
    page.get_by_label("Search what was said").fill("script")
    expect(page.locator("mark")).to_have_count(len(HOSTILE_IDS))
    assert page.evaluate("window.bad") is None and page.locator("main img").count() == 0
    assert "\u202e" not in page.content()
    page.locator(".excerpt").first.click()
    page.wait_for_load_state()
    assert page.evaluate("window.bad") is None and page.locator("main img").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_sticks_out(bundle, page_at, dark):
    names = [path.relative_to(bundle).as_posix() for path in sorted(bundle.rglob("*.html")) if "s0" not in path.name]
    assert {"compare.html", "compare/people.html", "compare/audit.html", "compare/policies.html"} < set(names)
    for name in [*names, "session/s03.html"]:
        page = page_at(
            (bundle / name).as_uri(), color_scheme="dark" if dark else "light", viewport={"width": 390, "height": 800}
        )
        found = Axe().run(page, options={"preload": False}).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    if dark:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
