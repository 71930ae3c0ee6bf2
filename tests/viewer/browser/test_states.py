import json
import shutil
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from apportion.corpus.importers.registry import import_to
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config, without_workers
from tests.viewer.browser.test_axe import serious
from tests.viewer.runs import served

NARROW = (390, 800, 1440)


@pytest.fixture
def own(viewed_run, tmp_path):
    """A server of a copy of the run that a test may spoil."""
    shutil.copytree(viewed_run.parent, tmp_path / "all", ignore=shutil.ignore_patterns("store", "viewer"))
    with served(tmp_path / "all" / "run") as running:
        yield running


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("session/none", "This run has no such session."),
        ("?page=0", "The address asks for what cannot be"),
        ("nowhere", "Not found"),
        ("label/none?who=eve&ask=x", "This run has no such session."),
        ("report", "This run has no report."),
    ],
)
def test_a_page_that_says_what_is_wrong(server, page_of, watched, path, says, dark):
    watched.allowed += ["404", "422"]
    for width in NARROW:
        page = page_of(server, path, width=width, dark=dark, bypass_csp=True)
        expect(page.locator("main")).to_contain_text(says)
        expect(page.get_by_role("link", name="All sessions")).to_be_visible()
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_run_that_is_gone(own, page_of, watched, dark):
    watched.allowed.append("503")
    shutil.rmtree(own.run.place.folder)
    own.run._looked_at = 0.0
    for width in NARROW:
        page = page_of(own, width=width, dark=dark, bypass_csp=True)
        expect(page.get_by_role("heading", level=1)).to_have_text("The run cannot be read")
        expect(page.locator("main")).to_contain_text("Put it back, or end the viewer with Ctrl-C.")
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_printed_address_lets_a_browser_in_and_leaves_no_token_in_its_bar(server, page_at, watched):
    watched.own.add(urlsplit(server.address).netloc)
    page = page_at(f"{server.address}session/s03?token={server.access.token}&method=rrd")
    expect(page.locator("#turn-1")).to_be_visible()
    assert page.url == f"{server.address}session/s03?method=rrd"
    page.goto(f"{server.address}session/s01")
    expect(page.locator("h1")).to_contain_text("s01")


def test_who_has_no_token_is_told_what_to_do(server, browser):
    for path, says in (("", "A token is needed"), ("?token=wrong", "Wrong token")):
        with browser.new_context(viewport={"width": 390, "height": 800}, bypass_csp=True) as context:
            page = context.new_page()
            page.goto(server.address + path)
            expect(page.get_by_role("heading", level=1)).to_have_text(says)
            expect(page.get_by_text("apportion view")).to_be_visible()
            assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.fixture(scope="module")
def unscored(tmp_path_factory):
    """A server of a run of dialogues that nobody rated."""
    folder = tmp_path_factory.mktemp("unscored")
    said = (
        "A table for two.",
        "Here you are.",
        "No, that is not what I asked for.",
        "Then this one.",
        "That is great!",
    )
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    (folder / "chats.jsonl").write_text("\n".join(json.dumps({"id": f"c{n}", "messages": messages}) for n in range(4)))
    import_to("chat", folder / "chats.jsonl", folder / "chats")
    text = 'corpus = "chats"\noutput = "run"\n[decompose]\nmethod = "reactions-en"\n'
    with without_workers():
        run_locally(load_config(config(folder, text)), ["rewards"], quiet=True)
    with served(folder / "run") as running:
        yield running


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_run_that_nobody_scored(unscored, page_of, dark):
    for width in NARROW:
        page = page_of(unscored, width=width, dark=dark, bypass_csp=True)
        expect(page.locator(".c-score").filter(has_text="not rated")).to_have_count(4)
        expect(page.locator(".c-session small").first).to_have_text("turns of assistant")
        expect(page.locator(".bars").first).to_be_visible()
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("link", name="c1", exact=True).click()
        expect(page.locator(".worth").first).to_be_visible()
        expect(page.locator(".score")).to_have_text("not rated turns of assistant")
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    for path, says in (
        ("compare", "nothing to compare"),
        ("compare/people", "Nobody has labelled"),
        ("label", "Start"),
    ):
        expect(page_of(unscored, path).locator("main")).to_contain_text(says)
