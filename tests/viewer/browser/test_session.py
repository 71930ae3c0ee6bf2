import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.viewer.runs import served
from tests.viewer.talks import write_talk_run

TIME = "document.querySelector('video').currentTime"
READY = (
    "document.querySelector('[data-ready]') && "
    "[...document.querySelectorAll('[data-player]')].every(one => one.readyState > 0)"
)


def until(page, condition, timeout_s=20.0):
    """Wait until a condition holds; Playwright's own way asks for eval, which the pages forbid."""
    end = time.monotonic() + timeout_s
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never: {condition}"
        page.wait_for_timeout(30)


@pytest.fixture
def talk(talks, page_of):
    """The session with a film, in the browser, its recordings known."""

    def open_talk(query="", **more):
        page = page_of(talks, f"session/talk{query}", **more)
        until(page, READY)
        return page

    return open_talk


def test_a_click_on_a_turn_moves_the_film(talk):
    page = talk()
    assert page.evaluate(TIME) == 0
    page.locator("#turn-6 .said").click()
    until(page, f"Math.abs({TIME} - 12) < 0.05")
    assert page.locator("[data-clock]").inner_text() == "0:12"
    assert page.url.endswith("#turn-6")
    expect(page.locator("#turn-6")).to_have_attribute("aria-current", "true")
    # The sound of the other begins half a second later on the session's clock.
    assert page.evaluate("document.querySelector('audio').currentTime") == pytest.approx(11.5, abs=0.05)


def test_a_click_on_the_timeline_moves_the_film_and_the_playhead(talk):
    page = talk()
    row = page.locator(".front .row")
    box = row.bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 3)
    until(page, f"Math.abs({TIME} - 15) < 0.3")
    place = page.evaluate("parseFloat(document.querySelector('[data-playhead]').style.left)")
    assert place == pytest.approx(75, abs=2)
    expect(page.locator("#turn-7")).to_have_attribute("aria-current", "true")


def test_space_plays_and_the_turns_follow(talk):
    page = talk("?t=3")
    until(page, f"Math.abs({TIME} - 3) < 0.05")
    page.keyboard.press("Space")
    until(page, f"{TIME} > 3.6")
    expect(page.locator("[data-play]")).to_have_attribute("aria-label", "Pause")
    until(page, "document.querySelector('#turn-2.heard')")
    page.keyboard.press("Space")
    stopped = page.evaluate(TIME)
    page.wait_for_timeout(300)
    assert page.evaluate(TIME) == pytest.approx(stopped, abs=0.1)


def test_a_link_opens_at_its_turn_and_second(talk):
    for address in ("#turn-8", "#turn=8"):
        page = talk(address)
        expect(page.locator("#turn-8")).to_have_attribute("aria-current", "true")
        until(page, f"Math.abs({TIME} - 16) < 0.05")
    page = talk("?t=9.5#turn-8")
    until(page, f"Math.abs({TIME} - 9.5) < 0.05")
    page.keyboard.press("l")
    assert "t=9.5" in page.url and page.url.endswith("#turn-8")


def test_a_second_that_is_none_is_passed_over(talk):
    page = talk("?t=javascript:alert(1)#turn-99")
    assert page.evaluate(TIME) == 0 and page.locator(".turn.current").count() == 0


def test_keys_walk_the_turns_and_look_at_methods(talk):
    page = talk()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#turn-1")).to_have_attribute("aria-current", "true")
    page.keyboard.press("J")
    expect(page.locator("#turn-2")).to_have_attribute("aria-current", "true")
    page.keyboard.press("k")
    expect(page.locator("#turn-1")).to_have_attribute("aria-current", "true")
    front = page.locator(".method.front .pick bdi")
    first, tint = front.inner_text(), page.locator("#turn-8").get_attribute("class")
    page.keyboard.press("2")
    assert front.inner_text() != first
    assert page.locator("#turn-8").get_attribute("class") != tint
    bar = page.locator('#turn-8 [data-series="2"]')
    expect(bar).to_be_visible()
    page.keyboard.press("Shift+Digit2")
    expect(bar).to_be_hidden()
    page.keyboard.press("0")
    expect(bar).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_single_keys_can_be_turned_off(talk):
    page = talk()
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("no single keys").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    assert page.locator(".turn.current").count() == 0


def test_why_a_turn_was_worth_that(talk):
    page = talk()
    page.locator("#turn-4 .why").click()
    grounds = page.locator("#turn-4 .grounds")
    expect(grounds).to_contain_text("because of the word 4")
    expect(grounds).to_contain_text("Sentence number 5 of talk.")
    expect(grounds).to_contain_text("nods twice")
    page.keyboard.press("e")
    expect(grounds).to_be_hidden()


def test_waves_and_behaviour_come_after_the_page(talk):
    page = talk()
    expect(page.locator(".wave-line")).to_have_count(2)
    expect(page.locator(".wave-line").first).to_be_visible()
    expect(page.locator(".line.track").first).to_contain_text("Pitch")
    wide = page.locator(".line.track svg").first.bounding_box()["width"]
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator(".line.track svg").first.bounding_box()["width"] == pytest.approx(2 * wide, rel=0.01)


def test_emotions_are_tracks_on_the_same_axis(talk):
    page = talk()
    emotions = page.locator("details.group", has_text="Emotions")
    emotions.locator("summary").click()
    tracks = emotions.locator(".line.track")
    expect(tracks).to_have_count(8)
    expect(tracks.first.locator("svg path")).to_have_count(1)
    lanes, drawn = page.locator(".lane-row").first.bounding_box(), tracks.first.locator("svg").bounding_box()
    assert (drawn["x"], drawn["width"]) == pytest.approx((lanes["x"], lanes["width"]), abs=1)


def test_chats_have_bubbles_on_two_sides_and_a_margin_of_rewards(talks, page_of):
    page = page_of(talks, "session/chat")
    left, right = (page.locator(f"#turn-{turn} .bubble").bounding_box() for turn in (0, 1))
    assert left["x"] < right["x"]
    bars = page.locator("#turn-0 .worth").bounding_box()
    assert bars["x"] >= left["x"] + left["width"]
    assert not page.locator("[data-transport]").is_visible()
    page.locator('.front .row [data-turn="4"]').click()
    expect(page.locator("#turn-4")).to_have_attribute("aria-current", "true")


def test_a_recording_that_is_not_there_is_told(talks, page_of):
    page = page_of(talks, "session/gone")
    expect(page.locator(".gone")).to_have_count(2)
    expect(page.locator(".gone").first).to_contain_text("no such file")
    page.keyboard.press("j")
    page.keyboard.press("Space")
    expect(page.locator("#turn-0")).to_have_attribute("aria-current", "true")


def test_a_recording_that_goes_while_the_page_is_open_is_told(tmp_path, page_of, watched):
    watched.allowed += ["404", "ERR_"]
    run = write_talk_run(tmp_path)
    with served(run) as server:
        page = page_of(server, "session/chat")
        (tmp_path / "corpus" / "ann.mp4").write_bytes(b"no film any more")
        page.goto(server.address + "session/talk")
        expect(page.locator(".gone")).to_contain_text("cannot play the recording")
        until(page, "document.querySelector('audio').readyState > 0")
        page.locator("#turn-6 .said").click()
        until(page, "Math.abs(document.querySelector('audio').currentTime - 11.5) < 0.05")


def test_what_is_wild_is_shown_and_not_run(talks, page_of):
    with talks.run.index.connect() as connection:
        rows = connection.execute("SELECT slug FROM sessions WHERE session_id = 'wild'").fetchall()
    page = page_of(talks, f"session/{rows[0]['slug']}")
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    page.locator("#turn-4 .why").click()
    expect(page.locator("#turn-4 .grounds")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("path", ["session/talk", "session/chat", "session/wild"])
@pytest.mark.parametrize("width", [390, 800])
def test_nothing_sticks_out_of_a_narrow_page(talks, page_of, path, width):
    page = page_of(talks, path, width=width)
    first, panel = (page.locator(one).bounding_box() for one in ("#turn-0", ".panel"))
    assert first["y"] < panel["y"]  # The words come before the tracks.
    page.locator("#turn-4 .why").click()
    expect(page.locator("#turn-4 .grounds")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", ["session/talk", "session/chat", "session/gone"])
def test_axe_finds_nothing(talks, page_of, path, dark):
    for width in (390, 1440):
        page = page_of(talks, path, dark=dark, width=width)
        page.locator("#turn-4 .why").click()
        expect(page.locator("#turn-4 .grounds")).to_be_visible()
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
