import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from apportion.corpus.corpus import Corpus
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.behaviour.command import config, environment, in_process
from tests.reward_model.tiny import save_tiny
from tests.viewer.runs import served

EVALUATED = """corpus = "{corpus}"
output = "run"
[decompose]
method = "sentiment"
compare = ["uniform"]
[train_reward]
backbone = "{backbone}"
max_tokens = 32
epochs = 1
[evaluate]
label = "thumbs"
labelled_turns = 3
bootstrap = 100
"""


@pytest.fixture
def labelled(viewed_run, tmp_path):
    shutil.copytree(viewed_run, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    shutil.copytree(viewed_run.parent / "corpus", tmp_path / "corpus")
    with served(tmp_path / "run") as running:
        yield running


def begin(page, who, scale):
    page.get_by_label("Your name").fill(who)
    if page.get_by_label("Something else").count():
        page.get_by_label("Something else").check()
    page.locator('select[name="scale"]').select_option(scale)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Begin with").click()
    page.wait_for_url("**/label/*")  # Until all is loaded: the script listens by then.


def test_turns_that_are_labelled_in_the_viewer_are_found_in_evaluate(labelled, page_of, tmp_path, monkeypatch):
    page = page_of(labelled)
    page.get_by_role("link", name="Label", exact=True).click()
    begin(page, "Eve", "thumbs")
    for _ in range(3):  # The three test sessions, three turns each, with both answers.
        for turn, says in ((1, "1 well"), (3, "0 badly"), (5, "1 well")):
            form = page.locator(f"#turn-{turn} form")
            form.get_by_role("button", name=says).click()
            expect(form.locator("[data-state]")).to_have_text("saved")
        expect(page.locator("[data-done]")).to_have_text("3")
        page.get_by_role("link", name="Next session").click()
    overlay = overlay_beside(tmp_path / "run")
    assert len(Overlay(overlay).labels().standing) == 9
    merged = in_process(monkeypatch, "label", "merge", overlay, tmp_path / "corpus", tmp_path / "labelled")
    assert merged.returncode == 0 and "9 labels by 1 annotators (Eve)" in merged.stdout
    labels = Corpus.open(tmp_path / "labelled").turn_labels.to_pylist()
    assert len([row for row in labels if row["annotator"] == "Eve"]) == 9
    (tmp_path / "tiny").mkdir()
    backbone = save_tiny(tmp_path / "tiny")
    text = EVALUATED.format(corpus="labelled", backbone=backbone)
    done = in_process(monkeypatch, "run", "--only", "evaluate", config(tmp_path, text), "--json")
    assert done.returncode == 0, done.stderr
    evaluation = json.loads((tmp_path / "run/evaluation.json").read_text())
    counted = json.dumps(evaluation)
    assert '"label": "thumbs"' in counted and '"above": 6' in counted and '"below": 3' in counted


def test_keys_label_move_on_and_take_back(labelled, page_of):
    page = page_of(labelled, "label")
    begin(page, "Eve", "1 to 5")
    expect(page.locator("[data-keys]")).to_contain_text("1–5 answer · Backspace take back")
    page.keyboard.type("j425")  # As fast as it can be: each answer is for a turn of its own.
    expect(page.locator("[data-done]")).to_have_text("3")
    expect(page.locator("[data-state]")).to_have_text(["saved"] * 3)
    pressed = page.locator('[aria-pressed="true"]')
    assert pressed.evaluate_all("all => all.map(one => one.value)") == ["4", "2", "5"]
    page.keyboard.press("k")
    page.keyboard.press("0")
    expect(page.locator("[data-done]")).to_have_text("2")
    page.reload()
    expect(page.locator('[aria-pressed="true"]')).to_have_count(2)


def test_an_answer_that_overtakes_another_leaves_the_later_count(labelled, page_of):
    page = page_of(labelled, "label")
    begin(page, "Eve", "1 to 5")
    held = []

    def hold(route):
        answer = route.fetch()
        if held:
            route.fulfill(response=answer)
        else:  # The first to be kept is the last that the page hears of.
            held.append((route, answer))

    page.route("**/label/*", hold)
    page.keyboard.type("j4")
    expect(page.locator("[data-state]").first).to_have_text("saving…")
    while not held:
        page.wait_for_timeout(20)
    page.keyboard.type("2")
    expect(page.locator("[data-done]")).to_have_text("2")
    route, answer = held[0]
    route.fulfill(response=answer)
    expect(page.locator("[data-state]").first).to_have_text("saved")
    expect(page.locator("[data-done]")).to_have_text("2")


def test_a_digit_is_the_answer_of_that_value_on_every_scale(labelled, page_of):
    page = page_of(labelled, "label")
    begin(page, "Eve", "-2 to 2")
    expect(page.locator("[data-keys]")).to_contain_text("0–2 answer")
    page.keyboard.type("j203")  # No answer is 3.
    expect(page.locator("[data-done]")).to_have_text("2")
    pressed = page.locator('[aria-pressed="true"]')
    assert pressed.evaluate_all("all => all.map(one => one.value)") == ["2", "0"]
    page.keyboard.press("k")
    page.keyboard.press("Backspace")
    expect(page.locator("[data-done]")).to_have_text("1")


def test_who_has_turned_single_keys_off_labels_nothing_by_them(labelled, page_of):
    page = page_of(labelled, "session/s03")
    page.evaluate("localStorage.setItem('apportion-keys', 'off')")
    page.goto(labelled.address + "label")
    begin(page, "Eve", "1 to 5")
    page.keyboard.type("j42")
    page.evaluate("localStorage.removeItem('apportion-keys')")
    page.reload()
    page.keyboard.type("j4")
    expect(page.locator("[data-done]")).to_have_text("1")


def test_what_is_not_saved_is_said(labelled, page_of, watched, tmp_path):
    watched.allowed += ["422", "503"]
    page = page_of(labelled, "label")
    begin(page, "Eve", "thumbs")
    with overlay_beside(tmp_path / "run").open("a") as file:
        file.write('{"kind": "none"}\n')
    page.locator("#turn-1").get_by_role("button", name="1 well").click()
    expect(page.locator("#turn-1 [data-state]")).to_contain_text("not saved")
    expect(page.locator('[aria-pressed="true"]')).to_have_count(0)


def test_nothing_sticks_out_at_390_pixels(labelled, page_of):
    page = page_of(labelled, "label", width=390, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    begin(page, "Eve", "0 to 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.go_back()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_killed_with_9_nothing_is_lost_that_the_page_has_confirmed(viewed_run, browser, tmp_path):
    shutil.copytree(viewed_run, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    corpus = viewed_run.parent / "corpus"
    command = [
        sys.executable,
        "-m",
        "apportion",
        "view",
        str(tmp_path / "run"),
        "--corpus",
        str(corpus),
        "--no-browser",
    ]
    viewer = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    address = next(line.split()[1] for line in viewer.stdout if line.startswith("open "))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_url(lambda url: "token" not in url)
        page.get_by_role("link", name="Label", exact=True).click()
        begin(page, "Eve", "thumbs")
        confirmed = 0
        for turn in (1, 3, 5):
            page.locator(f"#turn-{turn}").get_by_role("button", name="1 well").click()
            expect(page.locator(f"#turn-{turn} [data-state]")).to_have_text("saved")
            confirmed += 1
            if turn == 3:
                os.kill(viewer.pid, signal.SIGKILL)
                viewer.wait()
                break
        page.locator("#turn-5").get_by_role("button", name="1 well").click()
        expect(page.locator("#turn-5 [data-state]")).to_contain_text("not saved")
    assert len(Overlay(overlay_beside(tmp_path / "run")).labels().standing) == confirmed == 2
