import pytest
from playwright.sync_api import expect

from apportion.viewer.data.run_location import beside
from tests.viewer.pages.test_compare import audit, change_rewards, responses, run_of
from tests.viewer.runs import served


@pytest.fixture(scope="module")
def compared(viewed_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    place, other = run_of(folder / "first", viewed_run), run_of(folder / "second", viewed_run)
    change_rewards(other.folder, lambda row: {**row, "reward": -row["reward"]})
    audit(place.folder)
    around = beside(place, None, other, responses(folder / "responses.parquet"))
    with served(place.folder, place.corpus, around) as running:
        yield running


def test_what_is_chosen_is_compared_at_once_and_leads_to_the_turn(compared, page_of):
    page = page_of(compared)
    page.get_by_role("link", name="Compare", exact=True).click()
    page.locator('select[name="b"]').select_option(label="sentiment of second")
    expect(page.locator(".c-dis b").first).to_have_text("100%")
    page.locator(".c-apart a").first.click()
    page.wait_for_url("**/session/s*#turn-*")
    expect(page.locator(page.url[page.url.index("#") :])).to_be_visible()


def test_a_point_opens_its_session_at_the_turn(compared, page_of):
    page = page_of(compared, "compare/people")
    link = page.locator("svg.scatter a").first
    wanted = link.get_attribute("href").removeprefix("../")
    link.locator("circle").click(force=True)
    page.wait_for_url("**/session/**")
    assert page.url.endswith(f"/{wanted}")
    expect(page.locator(f"#{wanted.rpartition('#')[2]}")).to_have_attribute("aria-current", "true")


@pytest.mark.parametrize("path", ["compare", "compare/people", "compare/audit", "compare/policies"])
def test_nothing_sticks_out_at_390_pixels(compared, page_of, path):
    page = page_of(compared, path, width=390, height=800, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
