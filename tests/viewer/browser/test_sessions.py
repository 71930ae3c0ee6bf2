"""The list of sessions in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect


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


def test_it_works_without_scripts(server, page_of):
    page = page_of(server, java_script_enabled=False)
    page.get_by_label("Search what was said").fill("disappointed")
    page.get_by_role("button", name="Search").click()
    assert 0 < page.locator("tbody tr").count() < 12


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
