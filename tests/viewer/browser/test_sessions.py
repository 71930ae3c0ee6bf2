import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from apportion.corpus.corpus import Corpus
from tests.behaviour.small import write_small_corpus
from tests.viewer.runs import HOSTILE_IDS, run_on, served, write_hostile_run, write_viewed_run


def test_from_the_address_to_a_session(server, page_of):
    page = page_of(server)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sessions 12")
    assert page.locator("tbody tr").count() == 12
    page.get_by_role("link", name="s03").first.click()
    page.wait_for_url("**/session/s03?method=sentiment")
    expect(page.get_by_text("Hello, I need some help.")).to_be_visible()


def test_what_is_typed_is_searched_and_kept_in_the_address(server, page_of):
    page = page_of(server)
    page.keyboard.press("/")
    page.keyboard.type("platform tw")
    expect(page.locator("#results")).to_have_attribute("data-shown", "./?q=platform+tw&method=sentiment&sort=session")
    found = page.locator("tbody tr").count()
    assert 0 < found < 12
    expect(page.locator(".excerpt").first).to_contain_text("The train leaves at nine from platform two.")
    page.reload()
    assert page.locator("tbody tr").count() == found


def test_sorting_filtering_and_a_method(server, page_of):
    page = page_of(server)
    page.get_by_role("link", name="Score", exact=True).click()
    expect(page.locator("th.c-score[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    scores = [float(text) for text in page.locator("td.c-score b").all_inner_texts()]
    assert scores == sorted(scores) and scores[0] < scores[-1]
    page.get_by_role("combobox", name="Method").select_option("uniform")
    expect(page.locator("#results")).to_have_attribute("data-shown", "./?method=uniform&sort=score")
    page.get_by_role("combobox", name="Split").select_option("test")
    expect(page.locator("tbody tr .c-split").first).to_have_text("test")
    expect(page.locator("tbody tr")).to_have_count(3)


def test_dark_and_light_by_the_system_and_by_the_button(server, page_of):
    page = page_of(server, dark=True)
    colour = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.get_by_role("button", name="Dark or light").click()
    light = page.evaluate(colour)
    assert dark == "rgb(20, 23, 27)" and light == "rgb(253, 253, 252)"
    page.reload()
    assert page.evaluate(colour) == light


def test_nothing_sticks_out_at_390_pixels(server, page_of):
    for path in ("", "session/s03"):
        page = page_of(server, path, width=390, height=800)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for link in page.locator(".bar nav a").all():  # None is cut.
            expect(link).to_be_in_viewport(ratio=1)


def test_a_run_that_changes_is_told_and_taken_up(tmp_path, page_of):
    folder = write_viewed_run(tmp_path)
    with served(folder) as own:
        page = page_of(own)
        sums = page.locator("td.c-sum small").all_inner_texts()
        table = pq.read_table(folder / "rewards.parquet")
        place = table.schema.get_field_index("reward")
        doubled = pa.array([2 * value for value in table["reward"].to_pylist()])
        pq.write_table(table.set_column(place, table.schema.field(place), doubled), folder / "rewards.parquet")
        for _ in range(120):
            page.wait_for_timeout(500)
            page.reload()
            if page.locator("td.c-sum small").all_inner_texts() != sums and not page.locator(".notice").count():
                break
        assert page.locator("td.c-sum small").all_inner_texts() != sums


def test_a_quarantined_session_is_listed_with_its_warning(tmp_path, page_of):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    corpus = Corpus.open(tmp_path / "corpus")
    rows = [{**row, "score": 99.0} if row["session_id"] == "s02" else row for row in corpus.ratings.to_pylist()]
    ratings = pa.Table.from_pylist(rows, schema=corpus.ratings.schema)
    Corpus.of(tmp_path / "corpus", {**corpus.tables, "ratings": ratings}).write(tmp_path / "corpus")
    with served(run_on(tmp_path)) as own:
        page = page_of(own, "?only=warned")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr .c-warnings")).to_contain_text("failed or skipped")
        page.get_by_role("link", name="s02").first.click()
        expect(page.get_by_text("Hello, I need some help.")).to_be_visible()
        page.wait_for_load_state("networkidle")  # What it still asks for is answered before its server ends.


def test_hostile_strings_run_nothing(tmp_path, page_of):
    with served(write_hostile_run(tmp_path)) as own:
        page = page_of(own, "?q=script")
        assert page.locator("tbody tr").count() == len(HOSTILE_IDS)
        for path in page.eval_on_selector_all(".c-session a", "links => links.map(link => link.getAttribute('href'))"):
            page.goto(own.address + path)
            assert page.evaluate("window.bad") is None and page.locator("main img[src='x']").count() == 0
            page.wait_for_load_state("networkidle")


def test_the_list_by_keyboard(server, page_of):
    page = page_of(server)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.get_by_role("link", name="s00", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/session/s01**")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", ["", "?q=platform", "?q=nothinglikethis", "session/none"])
def test_axe_finds_nothing(server, page_of, watched, path, dark):
    watched.allowed.append("404")
    for width in (390, 1440):
        page = page_of(server, path, dark=dark, width=width)
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
