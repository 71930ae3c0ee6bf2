"""A whole study in Chromium: three people at once, breaks, two tabs, the back button, keys, a telephone, axe-core.

Where ``STUDY_PICTURES`` names a folder, the pictures of docs/guides/people.md are written there.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

pytest.importorskip("sqlalchemy", reason="the extra `study` is not installed")

from click.testing import CliRunner
from playwright.sync_api import BrowserContext, Page, expect

from apportion.cli import cli
from apportion.corpus.schema import RESPONSES
from tests.viewer.browser.test_axe import serious
from tests.viewer.study.served import ServedStudy, study_served

REASON = "I would talk to {} again, since it asks back and remembers what was said before."
CONTEXT = """\
user: I have been thinking about moving to the coast. The city is too loud for me, and I miss swimming.
assistant: That sounds lovely. What holds you back?
user: My job, mostly. And my sister lives around the corner from here. This is conversation {}.
assistant: Could you work from there?
user: Maybe three days a week. I have not dared to ask yet."""
ANSWERS = {
    "zz-first": "What would you say if you did ask? Saying it aloud once often makes it easier.",
    "zz-second": "Ok.",
    "zz-third": "Three days sounds like a good start! Your sister could visit you at weekends, and you would have the "
    "sea every morning. Have you looked at places yet?",
    "zz-fourth": "The coast has many beaches. <b>Beaches</b> are made of sand & stones.",
}
"""What four made-up policies answer."""


def table():
    rows = [
        {"session_id": f"s{n}", "turn": 5, "context": CONTEXT.format(n), "policy": policy, "response": text, "seed": 0}
        for n in range(5)
        for policy, text in ANSWERS.items()
    ]
    return pa.Table.from_pylist(rows, schema=RESPONSES.arrow)


@pytest.fixture
def study(tmp_path) -> Iterator[ServedStudy]:
    """Nine criteria and a reason; practice, then three items and a check."""
    with study_served(
        tmp_path / "study", table=table(), items_per_annotator=3, checks_every=3, title="Which chatbot?"
    ) as running:
        yield running


Opened = Callable[..., Page]


@pytest.fixture
def come_in(browser, watched) -> Iterator[Opened]:
    """Follow an annotator's link in a browser of their own: ``come_in(study, "a001", width=390, dark=True)``."""
    contexts: list[BrowserContext] = []

    def open_page(served: ServedStudy, annotator: str, *, width: int = 1440, dark: bool = False, **more) -> Page:
        watched.own.add(urlsplit(served.address).netloc)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", **more
        )
        contexts.append(context)
        watched.watch(context)
        page = context.new_page()
        page.goto(f"{served.address}a/{served.tokens[annotator]}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched.left() == []


def begin(page: Page) -> None:
    """Agree, and read the instructions."""
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Practice")
    page.wait_for_load_state()


def mark(page: Page, careful: bool = True) -> None:
    """Mark A everywhere; on an attention check what it tells, in the first question, if somebody is careful."""
    told = page.locator(".responses li", has_text="This is a check")
    check = (told.locator(".letter").text_content() or "").split()[-1] if told.count() and careful else None
    asked = re.search("“(.*)”", told.text_content() or "")[1] if check else ""
    for question in page.locator("[data-question]").all():
        wanted = check if check and asked in (question.locator("legend").text_content() or "") else "A"
        question.get_by_label(f"Response {wanted}", exact=True).check()
    page.locator("#reason").fill(REASON.format("A"))


def save(page: Page) -> None:
    """Save, and wait until all of the page that this leads to is here."""
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()


def test_three_people_at_once_one_breaks_off_twice_and_one_reads_nothing(study, come_in, watched):
    pages = {name: come_in(study, name) for name in study.tokens}
    for page in pages.values():
        begin(page)
    states = {}
    for step in range(5):
        for name, page in pages.items():
            if name == "a002" and step in (2, 3):  # The browser is closed, and opened again on another day.
                state = page.context.storage_state()
                page.context.close()
                page = pages[name] = come_in(study, name, storage_state=state)
                states[step] = page.url
            mark(page, careful=name != "a003")
            save(page)
    for page in pages.values():
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        expect(page.locator("output")).to_have_text(study.study.settings.completion)
    assert [urlsplit(url).path for url in states.values()] == ["/item/3", "/item/4"]
    rows = study.store.answers()
    assert len(rows) == 15 and {row.revision for row in rows} == {1}
    expected = study.study.checks
    checks = {row.annotator: expected[row.item].passed(row.answers) for row in rows if row.item in expected}
    assert checks == {"a001": True, "a002": True, "a003": False}
    assert all(row.seconds > 0 for row in rows)
    done = CliRunner().invoke(cli, ["study", "report", str(study.study.path)])
    assert done.exit_code == 0, done.output
    told = json.loads((study.study.path / "report" / "report.json").read_text())
    assert told["systems"] == sorted(ANSWERS) and told["answered_items"] == 4 and told["simulated_annotators"] == 0
    flagged = {one["annotator"]: one["flags"] for one in told["annotators"] if one["flags"]}
    assert flagged == {"a003": ["failed 1 of 1 attention checks"]}


def test_back_reload_and_a_second_click(study, come_in):
    page = come_in(study, "a001")
    begin(page)
    mark(page)
    button = page.get_by_role("button", name="Save")
    button.dblclick()
    expect(page.get_by_role("status")).to_contain_text("Your answer to the practice is saved")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversation 1 of 4")
    assert [row.revision for row in study.store.answers()] == [1]
    page.go_back()
    expect(page.locator("[data-question]").first.get_by_label("Response A")).to_be_checked()
    page.locator("#reason").fill(REASON.format("B"))
    save(page)
    page.wait_for_url(re.compile("saved=1"))
    expect(page.get_by_role("status")).to_contain_text("is saved")
    assert [(row.revision, row.reason) for row in study.store.answers()] == [(2, REASON.format("B"))]


def test_two_tabs_and_the_person_chooses(study, come_in, watched):
    watched.allowed.append("409")
    page = come_in(study, "a001")
    begin(page)
    other = page.context.new_page()
    other.goto(page.url)
    mark(page)
    save(page)
    expect(page.get_by_role("status")).to_contain_text("is saved")
    mark(other)
    other.locator("#reason").fill(REASON.format("C"))
    save(other)
    stale = other.locator(".stale")
    expect(stale).to_contain_text("answered already, with other answers")
    expect(stale).to_contain_text(REASON.format("A"))
    picture(other, "study_two_tabs.png")
    (kept,) = study.store.answers()
    assert kept.reason == REASON.format("A")
    other.get_by_role("button", name="Replace it").click()
    expect(other.get_by_role("status")).to_contain_text("is saved")
    (kept,) = study.store.answers()
    assert kept.reason == REASON.format("C") and kept.revision == 2


def test_two_tabs_and_what_is_saved_is_kept(study, come_in, watched):
    watched.allowed.append("409")
    page = come_in(study, "a001")
    begin(page)
    other = page.context.new_page()
    other.goto(page.url)
    for one, reason in ((page, "A"), (other, "C")):
        mark(one)
        one.locator("#reason").fill(REASON.format(reason))
        save(one)
    other.get_by_role("link", name="Keep what is saved").click()
    expect(other.get_by_role("heading", level=1)).to_have_text("Conversation 1 of 4")
    assert [row.reason for row in study.store.answers()] == [REASON.format("A")]


def test_keys_mark_move_and_save(study, come_in):
    page = come_in(study, "a001")
    begin(page)
    page.locator("[data-question] input").first.focus()
    page.keyboard.type("bjcj")
    page.keyboard.press("k")
    page.keyboard.type("d")
    questions = page.locator("[data-question]")
    values = "all => all.map(one => one.value)"
    chosen = [questions.nth(number).locator("input:checked").evaluate_all(values) for number in range(3)]
    assert chosen == [["B"], ["C", "D"], []]
    page.locator("#reason").fill(REASON.format("b"))
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("is saved")


def test_leaving_the_page_is_counted_and_seconds_stand_still_meanwhile(study, come_in):
    page = come_in(study, "a001")
    begin(page)
    mark(page)
    page.evaluate(
        """() => { for (const state of ["hidden", "visible", "hidden", "visible"]) {
            Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
            document.dispatchEvent(new Event("visibilitychange")); } }"""
    )
    save(page)
    expect(page.get_by_role("status")).to_contain_text("is saved")
    (row,) = study.store.answers()
    assert row.focus_lost >= 2 and 0 < row.seconds < 60


def test_what_is_missing_is_led_to(study, come_in, watched):
    watched.allowed.append("422")
    page = come_in(study, "a001")
    begin(page)
    save(page)
    expect(page.locator("#faults")).to_be_focused()
    page.locator("#faults a").click()
    assert page.url.endswith("#q-reason")
    assert study.store.answers() == []


@pytest.mark.parametrize("width", [390, 800, 1440])
def test_nothing_sticks_out(study, come_in, watched, width):
    watched.allowed += ["422", "404"]
    page = come_in(study, "a001", width=width)

    def wide():
        page.wait_for_load_state()  # A click has led on, perhaps to a page that has no root yet.
        return page.evaluate("document.documentElement.scrollWidth")

    assert wide() <= width
    page.get_by_role("button", name="I agree").click()
    assert wide() <= width
    page.get_by_role("button", name="Begin").click()
    save(page)
    for summary in page.locator("summary").all():
        summary.click()
    assert wide() <= width
    page.goto(f"{study.address}nowhere")
    assert wide() <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_serious_is_found_by_axe(study, come_in, watched, dark):
    watched.allowed += ["409", "422"]
    page = come_in(study, "a001", dark=dark, bypass_csp=True)
    found = serious(page)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Instructions")
    found += serious(page)
    page.get_by_role("button", name="Begin").click()
    save(page)
    for summary in page.locator("summary").all():
        summary.click()
    found += serious(page)
    other = page.context.new_page()
    other.goto(page.url)
    for one, reason in ((page, "A"), (other, "B")):
        mark(one)
        one.locator("#reason").fill(REASON.format(reason))
        save(one)
    found += serious(page) + serious(other)
    for _ in range(4):
        mark(page)
        save(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    assert found + serious(page) == []


@pytest.mark.parametrize("criteria", ["savoir", "turns", "negotiation"])
def test_other_sets_are_as_clean(tmp_path, come_in, watched, criteria):
    watched.allowed.append("422")
    with study_served(tmp_path / "study", criteria, table=table(), items_per_annotator=2, checks_every=2) as running:
        page = come_in(running, "a001", width=390, bypass_csp=True)
        begin(page)
        save(page)
        assert serious(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def picture(page: Page, name: str, **more) -> None:
    """Write a picture of a page where pictures are asked for."""
    if folder := os.environ.get("STUDY_PICTURES"):
        page.screenshot(path=Path(folder) / name, **more)


def test_the_pages_as_the_documentation_shows_them(study, come_in):
    wide, narrow = come_in(study, "a001"), come_in(study, "a002", width=390, dark=True)
    picture(wide, "study_consent.png")
    for page in (wide, narrow):
        begin(page)
        mark(page)
        save(page)
        for question, letters in enumerate(("B", "BD", "", "AC")):
            for letter in letters:
                page.locator("[data-question]").nth(question).get_by_label(f"Response {letter}", exact=True).check()
    expect(wide.locator(".responses li")).to_have_count(4)
    picture(wide, "study_item.png")
    narrow.locator("#q-fluency").scroll_into_view_if_needed()
    picture(narrow, "study_item_390.png")
    for _ in range(4):
        mark(wide)
        save(wide)
    expect(wide.locator("output")).to_have_text(study.study.settings.completion)
    picture(wide, "study_thanks.png")
