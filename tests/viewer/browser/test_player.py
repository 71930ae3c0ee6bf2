import pytest
from playwright.sync_api import expect

from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.features.clips import tone, write_wav
from tests.viewer.browser.test_axe import serious
from tests.viewer.browser.test_session import READY, until
from tests.viewer.runs import served
from tests.viewer.talks import with_media

ASKED = "who=Eve&ask=landing"
SEEN = """window.seen = new Set();
(function look() {
  const of = (one) => (one.paused || one.ended ? "still" : "plays");
  const text = (what) => document.querySelector(what);
  window.seen.add([text("[data-clock]").textContent, text("[data-play]").getAttribute("aria-label"),
    of(text("audio")), of(text("video"))].join(" "));
  requestAnimationFrame(look);
})()"""
"""Notes what every picture of the page was like: the clock, what the button offers, sound, film."""
FILM = "document.querySelector('video')"
SOUND = "document.querySelector('audio')"
STILL = "(window.was === (window.was = scrollY))"
"""Whether the page stands where it stood when this was last asked."""


def changed(run, folder, media):
    """A copy of ``run`` with other recordings (`with_media`), and with something to label."""
    copy = with_media(run, folder, media)
    Overlay(overlay_beside(copy)).ask(question_on("1 to 5"))
    return copy


@pytest.fixture(scope="module")
def apart(talk_run, tmp_path_factory):
    """A server of a session of 20 s with 3 s of sound from its beginning and a film that begins after 4 s."""
    folder = tmp_path_factory.mktemp("apart")
    run = changed(talk_run, folder, [("ann.mp4", "ann", "video", 4.0), ("short.wav", "bob", "audio", 0.0)])
    write_wav(folder / "all" / "corpus" / "short.wav", tone(3.0), codec="pcm_s16le")
    with served(run) as running:
        yield running


@pytest.fixture(scope="module")
def shared(talk_run, tmp_path_factory):
    """A server of a session whose one film shows both."""
    media = [("ann.mp4", name, kind, None) for name in ("ann", "bob") for kind in ("video", "audio")]
    with served(changed(talk_run, tmp_path_factory.mktemp("shared"), media)) as running:
        yield running


def test_the_clock_goes_where_no_recording_is_and_each_begins_in_its_time(apart, page_of):
    page = page_of(apart, "session/talk?t=2")
    until(page, READY)
    expect(page.locator("[data-clock]")).to_have_text("0:02")
    until(page, f"Math.abs({SOUND}.currentTime - 2) < 0.05 && {FILM}.currentTime === 0")
    page.evaluate(SEEN)
    page.keyboard.press("Space")
    until(page, f"!{FILM}.paused && {FILM}.currentTime > 0.3", 60)
    page.keyboard.press("Space")
    until(page, f"{FILM}.paused")
    expect(page.locator("[data-play]")).to_have_attribute("aria-label", "Play")
    seen = page.evaluate("[...window.seen]")
    assert {"0:02 Pause plays still", "0:03 Pause still still", "0:04 Pause still plays"} <= set(seen)
    assert not [one for one in seen if one.endswith("plays plays")]


def test_what_has_been_played_to_its_end_begins_anew(apart, page_of):
    page = page_of(apart, "session/talk?t=19.5")
    until(page, READY)
    page.evaluate(f"{FILM}.currentTime = 19.9")  # Where the film ends: 4 s after the session does.
    page.keyboard.press("Space")
    # The button alone says nothing yet: it offers to play until the first picture.
    button = "document.querySelector('[data-play]').getAttribute('aria-label')"
    until(page, f"{FILM}.currentTime === {FILM}.duration && {FILM}.paused && {button} === 'Play'")
    page.keyboard.press("Space")
    until(page, f"!{SOUND}.paused && {SOUND}.currentTime > 0.1 && {FILM}.paused")
    expect(page.locator("[data-play]")).to_have_attribute("aria-label", "Pause")


def test_a_film_of_two_is_played_once_on_the_label_page(shared, page_of):
    page = page_of(shared, f"label/talk?{ASKED}", bypass_csp=True)
    expect(page.locator(".recordings figure")).to_have_count(1)
    expect(page.locator(".recordings figcaption")).to_have_text("ann and bob")
    expect(page.locator("#turn-0 form")).to_have_count(1)
    assert serious(page) == []


def test_on_the_label_page_all_recordings_are_played_from_a_turn_together(apart, page_of):
    page = page_of(apart, f"label/talk?{ASKED}")
    until(page, f"{FILM}.readyState > 0 && {SOUND}.readyState > 0")
    page.locator("#turn-1 [data-seek]").click()
    until(page, f"!{SOUND}.paused && {SOUND}.currentTime > 2")
    assert page.evaluate(f"{FILM}.paused && {FILM}.currentTime") == 0
    page.locator("#turn-4 [data-seek]").click()
    until(page, f"!{FILM}.paused && {FILM}.currentTime > 3.4 && {SOUND}.paused")
    page.locator("h1").click()
    page.keyboard.press("Space")
    until(page, f"{FILM}.paused")


def test_a_recording_that_is_not_there_is_told_on_the_label_page(talk_run, tmp_path, page_of):
    run = changed(talk_run, tmp_path, [("lost.mp4", "ann", "video", None), ("../secret.wav", "bob", "audio", None)])
    with served(run) as running:
        page = page_of(running, f"label/talk?{ASKED}", width=390, dark=True, bypass_csp=True)
        expect(page.locator(".recordings .gone")).to_have_count(2)
        expect(page.locator(".recordings .gone").first).to_contain_text("No recording to play")
        assert page.locator("video, audio, [data-seek]").count() == 0
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
        page.locator("#turn-0 button[value='4']").click()
        expect(page.locator("#turn-0 [data-state]")).to_have_text("saved")


def test_where_it_is_narrow_what_plays_stays_in_reach_and_covers_no_turn_that_is_gone_to(apart, page_of):
    page = page_of(apart, "session/talk", width=390, height=844)
    until(page, READY)
    for _ in range(10):
        page.keyboard.press("j")
    expect(page.locator("#turn-9")).to_have_attribute("aria-current", "true")
    expect(page.locator("[data-play]")).to_be_in_viewport()
    bottom = "document.querySelector('#turn-9').getBoundingClientRect().bottom"
    until(page, f"{bottom} <= document.querySelector('[data-transport]').getBoundingClientRect().top")
    page.locator("[data-play]").click()
    until(page, f"!{FILM}.paused")


def test_a_turn_stays_in_sight_where_what_stands_above_it_comes_late(apart, page_of):
    page = page_of(apart, "session/talk", width=390, height=844)
    until(page, READY)
    # As where a browser keeps nothing in its place by itself.
    page.evaluate("document.documentElement.style.overflowAnchor = 'none'")
    for _ in range(10):
        page.keyboard.press("j")
    bar, turn = (f"document.querySelector('{one}').getBoundingClientRect()" for one in ("[data-transport]", "#turn-9"))
    seen = f"{turn}.top > 0 && {turn}.bottom <= {bar}.top"
    until(page, f"{seen} && {STILL}")
    page.evaluate("document.querySelector('.screens').style.paddingBottom = '300px'")
    page.wait_for_timeout(100)
    until(page, f"{seen} && {STILL}")
    # Whoever has gone elsewhere stays there.
    page.mouse.move(200, 300)
    page.mouse.wheel(0, -20_000)
    until(page, "scrollY === 0")
    page.evaluate("document.querySelector('.screens').style.paddingBottom = '600px'")
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") == 0


def test_a_film_that_could_not_be_read_before_the_script_was_there_is_told(talk_run, tmp_path, page_of, watched):
    watched.allowed += ["404", "ERR_"]
    run = changed(talk_run, tmp_path, [("none.mp4", "ann", "video", None), ("bob.wav", "bob", "audio", None)])
    (tmp_path / "all" / "corpus" / "none.mp4").write_bytes(b"no film")
    with served(run) as running:
        page = page_of(running)

        def late(route):
            until(page, f"Boolean({FILM}?.error)")
            route.continue_()

        page.route("**/session_player.js*", late)
        for address in ("session/talk", f"label/talk?{ASKED}"):
            page.goto(running.address + address)
            expect(page.locator(".gone")).to_contain_text("cannot play the recording", timeout=20_000)
            until(page, f"{SOUND}.readyState > 0")
