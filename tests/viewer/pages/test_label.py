import html
import json
import re
import shlex
import shutil
from dataclasses import replace
from urllib.parse import quote

import pytest

from apportion.viewer.data.run_location import beside, open_place
from apportion.viewer.labels.label import Label, question_on, said_digest
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from apportion.viewer.views.label_view import sessions_to_label
from tests.viewer.asking import ask, send, token_of
from tests.viewer.runs import served

HOSTILE = '<script>alert("x")</script>\'&'


@pytest.fixture
def labelled(viewed_run, tmp_path):
    """A server of a run of its own, so that its labels are; and its overlay with one question."""
    shutil.copytree(viewed_run, tmp_path / "run", ignore=shutil.ignore_patterns("store", "viewer"))
    overlay = Overlay(overlay_beside(tmp_path / "run"))
    overlay.ask(question_on("1 to 5"))
    with served(tmp_path / "run", viewed_run.parent / "corpus") as running:
        yield running, overlay


def token(running):
    return token_of(ask(running, "label")[1])


def fields(running, **changes):
    given = {"token": token(running), "who": "eve", "ask": "landing", "turn": 1, "value": 4}
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def values(overlay):
    return {(key[0], key[1], key[2]): label.value for key, label in overlay.labels().standing.items()}


def test_a_label_is_kept_and_the_page_leads_back_to_its_turn(labelled):
    running, overlay = labelled
    status, _, headers = send(running, "label/s03", fields(running))
    assert status == 303 and headers["location"] == "../label/s03?who=eve&ask=landing#turn-1"
    assert values(overlay) == {("s03", 1, "eve"): 4.0}
    page = ask(running, "label/s03?who=eve&ask=landing")[1]
    assert len(re.findall('aria-pressed="true"', page)) == 1
    status, said, _ = send(running, "label/s03", fields(running, turn=3, value=1), Accept="application/json")
    assert status == 200 and json.loads(said) == {"saved": True, "labelled": 2, "lines": 3}
    assert [label.blind for label in overlay.labels().standing.values()] == [True, True]
    send(running, "label/s03", fields(running, value=""))
    assert values(overlay) == {("s03", 3, "eve"): 1.0}


def test_from_a_session_to_its_labels_which_are_then_not_blind(labelled):
    running, overlay = labelled
    address = re.search(r'class="to-label" href="\.\./(label[^"]+)"', ask(running, "session/s03")[1])[1]
    address = address.replace("&amp;", "&")
    assert address == "label?session=s03&shown=true"
    form = ask(running, address)[1]
    assert "kept as not blind" in form
    sent = dict(re.findall('<input type="hidden" name="([a-z]+)" value="([^"]*)">', form))
    status, _, headers = send(running, "label", {**sent, "who": "eve", "ask": "landing"})
    assert (status, headers["location"]) == (303, "label/s03?who=eve&ask=landing&shown=true")
    page = ask(running, headers["location"])[1]
    assert "rewards are shown: labels are kept as not blind" in page
    assert send(running, "label/s03", fields(running, shown="true"))[0] == 303
    assert [label.blind for label in overlay.labels().standing.values()] == [False]
    # Whoever comes without a name is asked for it, and comes back blind.
    assert ask(running, "label/s03")[2]["location"] == "../label?session=s03"
    assert "not blind" not in ask(running, "label?session=s03")[1]


def test_a_session_that_is_none_leads_nowhere_else(labelled):
    running, _ = labelled
    for name in ("//evil.example/x", "..", "s03?x=1#y", HOSTILE):
        status, _, headers = send(running, "label", fields(running, turn=None, value=None, session=name))
        assert status == 303 and headers["location"].startswith("label/") and "//" not in headers["location"]
        assert ask(running, headers["location"])[0] in (200, 404)
        assert HOSTILE not in ask(running, f"label?session={quote(name)}")[1]


def test_where_labels_are_kept_can_be_typed_as_it_is_shown(viewed_run, tmp_path):
    place = open_place(viewed_run)
    with served(viewed_run, around=beside(place, tmp_path / "two words & more.jsonl")) as running:
        page = html.unescape(ask(running, "label")[1])
    command = re.search("apportion label merge (.*) CORPUS LABELLED", page)[1]
    assert shlex.split(command) == [str(tmp_path / "two words & more.jsonl")]


def test_a_label_of_other_words_is_not_put_beside_these(labelled):
    running, overlay = labelled
    overlay.add(Label("s03", 1, said_digest("bot", "other words"), "eve", "landing", 4.0, 1.0, 5.0, True, ""))
    page = ask(running, "label/s03?who=eve&ask=landing")[1]
    assert 'aria-pressed="true"' not in page and "<b data-done>0</b>" in page
    overlay.add(Label("gone", 1, said_digest("bot", "other words"), "eve", "landing", 4.0, 1.0, 5.0, True, ""))
    assert '<b class="big">0</b> of' in ask(running, "label?who=eve&ask=landing")[1]
    _, said, _ = send(running, "label/s03", fields(running, turn=3, value=1), Accept="application/json")
    assert json.loads(said) == {"saved": True, "labelled": 1, "lines": 4}
    overview = ask(running, "label?who=eve&ask=landing")[1]
    assert '<b class="big">1</b> of' in overview and overview.count('<span class="of">1 of') == 1


def test_two_annotators_do_not_see_each_other_s_labels(labelled):
    running, overlay = labelled
    send(running, "label/s03", fields(running))
    send(running, "label/s03", fields(running, who="max", value=2))
    assert values(overlay) == {("s03", 1, "eve"): 4.0, ("s03", 1, "max"): 2.0}
    for who, value in (("eve", "4"), ("max", "2"), ("kim", None)):
        page = ask(running, f"label/s03?who={who}&ask=landing")[1]
        assert re.findall('value="([0-9])" aria-pressed="true"', page) == ([value] if value else [])


def test_rewards_and_scores_are_not_in_the_page_unless_asked_for_and_then_it_is_noted(labelled):
    running, overlay = labelled
    for path in ("label", "label?who=eve&ask=landing", "label/s03?who=eve&ask=landing"):
        page = ask(running, path)[1]
        assert "sentiment" not in page and "satisfaction" not in page and 'class="rewards"' not in page
    page = ask(running, "label/s03?who=eve&ask=landing&shown=true")[1]
    assert page.count('class="rewards"') == 3 and "sentiment" in page
    send(running, "label/s03", fields(running, shown="true"))
    assert [label.blind for label in overlay.labels().standing.values()] == [False]


def test_who_has_seen_rewards_is_not_blind_again_by_hiding_them(labelled):
    running, overlay = labelled
    ask(running, "label/s03?who=eve&ask=landing&shown=true")
    lines = overlay.path.read_text()
    ask(running, "label/s03?who=eve&ask=landing&shown=true")
    assert overlay.path.read_text() == lines, "it is noted once"
    page = ask(running, "label/s03?who=eve&ask=landing")[1]
    assert 'class="rewards"' not in page and "you have seen them, so labels are kept as not blind" in page
    assert "blind: rewards are hidden" in ask(running, "label/s03?who=max&ask=landing")[1]
    assert "blind: rewards are hidden" in ask(running, "label/s04?who=eve&ask=landing")[1]
    send(running, "label/s03", fields(running))
    send(running, "label/s03", fields(running, who="max"))
    send(running, "label/s04", fields(running))
    blind = {(key[0], key[2]): label.blind for key, label in overlay.labels().standing.items()}
    assert blind == {("s03", "eve"): False, ("s03", "max"): True, ("s04", "eve"): True}


def test_rewards_are_not_shown_to_whom_nobody_can_note(labelled):
    running, _ = labelled
    status, page, _ = ask(running, "label/s03?who=computed:eve&ask=landing&shown=true")
    assert status == 422 and "computed:eve" in page and "sentiment" not in page


def test_sessions_of_the_test_split_come_first_and_are_counted(labelled):
    running, _ = labelled
    page = ask(running, "label?who=eve&ask=landing")[1]
    splits = re.findall('class="tag split-([a-z]+)"', page)
    assert splits[:3] == ["test"] * 3 and "test" not in splits[3:]
    first = re.search('href="(label/[^"?]+)[^"]*">Begin with', page)[1]
    for turn in (1, 3, 5):
        assert send(running, first, fields(running, turn=turn))[0] == 303
    assert "3 of 3" in ask(running, "label?who=eve&ask=landing")[1]
    assert "0 of 3" in ask(running, "label?who=max&ask=landing")[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": 9}, "allowed is 1 to 5"),
        ({"value": 2.5}, "allowed is 1 to 5"),
        ({"value": "nan"}, "is no number"),
        ({"value": HOSTILE}, "is no number"),
        ({"turn": 0}, "none of this session"),
        ({"turn": 99}, "none of this session"),
        ({"turn": "1e9"}, "none of this session"),
        ({"turn": None}, "none of this session"),
        ({"who": ""}, "name is missing"),
        ({"who": "computed:x"}, "computed"),
        ({"who": "\u202eeve"}, "U+202E"),
        ({"who": "x" * 500_000}, "500,000 characters"),
    ],
)
def test_what_is_no_label_is_refused_and_nothing_is_kept(labelled, changes, said):
    running, overlay = labelled
    status, page, _ = send(running, "label/s03", fields(running, **changes))
    assert status == 422 and said in page and "<script>alert" not in page
    assert values(overlay) == {}


def test_forms_of_other_sites_and_without_this_viewer_s_token_are_refused(labelled):
    running, overlay = labelled
    mine = fields(running)
    assert send(running, "label/s03", mine, Origin="http://evil.example")[0] == 403
    assert send(running, "label/s03", mine, Origin="null")[0] == 403
    assert send(running, "label/s03", mine, Cookie="")[0] == 403
    for token in ("", "0" * 64, None, "é"):
        status, page, _ = send(running, "label/s03", fields(running, token=token))
        assert status == 403 and "not from a page of this viewer" in page
    assert send(running, "label/s03", mine, Content_Type="application/json")[0] == 415
    assert send(running, "label/s03", mine, Content_Type="text/plain")[0] == 415
    headers = {"Origin": running.address.rstrip("/"), "Content_Type": "application/x-www-form-urlencoded"}
    assert ask(running, "label/s03", b"token=%ff&who", **headers)[0] == 400
    assert ask(running, "label/s03", f"token={mine['token']}&who=a&who=b".encode(), **headers)[0] == 400
    assert values(overlay) == {}


def test_no_such_session_and_no_such_question_are_404(labelled):
    running, _ = labelled
    for path in ("label/none?who=eve&ask=landing", "label/s03?who=eve&ask=none", "label/..%2f..?who=e&ask=landing"):
        assert ask(running, path)[0] == 404
    assert send(running, "label/none", fields(running))[0] == 404
    status, _, headers = ask(running, "label/s03")
    assert status == 303 and headers["location"] == "../label?session=s03"


def test_a_question_of_one_s_own_is_kept_once(labelled):
    running, overlay = labelled
    own = {"token": token(running), "who": "eve", "ask": "", "asks": f"Kind? {HOSTILE}", "name": "kindness"}
    scale = {"scale": "own", "low": -1, "high": 1, "step": 0.5}
    status, _, headers = send(running, "label", own | scale)
    assert status == 303 and headers["location"] == "label?who=eve&ask=kindness"
    assert overlay.labels().questions["kindness"].answers == (-1.0, -0.5, 0.0, 0.5, 1.0)
    status, page, _ = send(running, "label", own | scale | {"high": 2})
    assert status == 422 and "answer" in page and "already" in page
    status, page, _ = send(running, "label", own | {"scale": "own", "low": 5, "high": 1, "step": 1, "name": "z"})
    assert status == 422 and "has to be below" in page
    for scale in ("thumbs", "0 to 100"):
        assert send(running, "label", own | {"scale": scale, "name": scale})[0] == 303
        page = ask(running, f"label/s03?who=eve&ask={scale.replace(' ', '+')}")[1]
        assert page.count("data-answer") == 3 and "<script>alert" not in page and "Kind? &lt;script&gt;" in page
    assert send(running, "label", own | {"scale": "best", "name": "y"})[0] == 422
    assert send(running, "label", own | {"who": " "})[0] == 422


def test_hostile_names_are_text_everywhere(labelled):
    running, overlay = labelled
    who = f"{HOSTILE} javascript:x"
    send(running, "label/s03", fields(running, who=who))
    assert values(overlay) == {("s03", 1, who): 4.0}
    page = ask(running, "label")[1]
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    page = ask(running, "label/s03?who=%3Cscript%3Ealert(%22x%22)%3C/script%3E&ask=landing")[1]
    assert "<script>alert" not in page


def test_labels_that_cannot_be_written_are_not_said_to_be_saved(labelled, monkeypatch):
    running, overlay = labelled
    mine = fields(running)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apportion.viewer.labels.label_store.os.fsync", full)
    status, page, _ = send(running, "label/s03", mine)
    monkeypatch.undo()
    assert status == 422 and "labels cannot be written (No space left on device)" in page
    assert values(overlay) == {}


def test_what_was_said_is_on_the_session_s_page_at_once_and_not_on_another_annotator_s_label_page(labelled):
    running, overlay = labelled
    before = ask(running, "session/s03?turn=1")[1]
    assert "people: landing" not in before and "<bdi>eve</bdi>" not in before
    send(running, "label/s03", fields(running))
    for address in ("session/s03?turn=1", "session/s03/turn/1"):
        assert re.search(r"<bdi>eve</bdi>: <b>4</b> <small>on 1 to 5</small>", ask(running, address)[1]), address
    assert "people: landing" in ask(running, "session/s03")[1]
    assert "people: landing" not in ask(running, "session/s04")[1]
    assert 'aria-pressed="true"' not in ask(running, "label/s03?who=bob&ask=landing")[1]
    send(running, "label/s03", fields(running, value=""))
    assert "people: landing" not in ask(running, "session/s03")[1]
    overlay.add(Label("s03", 1, said_digest("bot", "other words"), "eve", "landing", 4.0, 1.0, 5.0, True, ""))
    assert "people: landing" not in ask(running, "session/s03")[1]


def test_an_overlay_that_is_damaged_is_said_and_the_other_pages_go_on(labelled):
    running, overlay = labelled
    with overlay.path.open("a") as file:
        file.write('{"kind": "label"}\n')
    status, page, _ = ask(running, "label")
    assert status == 503 and "line 2: not as the viewer writes it" in page
    assert ask(running, "")[0] == 200
    status, page, _ = ask(running, "session/s03")
    assert status == 200 and "labels: " in page and "line 2: not as the viewer writes it" in page


def test_dialogues_are_counted_down_and_then_it_is_told_which_methods_to_trust(viewed_run, tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.viewer.views.label_trust.ASKED", 2)
    shutil.copytree(viewed_run, tmp_path / "run", ignore=shutil.ignore_patterns("store", "viewer"))
    place, told = open_place(tmp_path / "run", viewed_run.parent / "corpus"), []
    around = replace(beside(place), teaching=True)
    around.overlay.ask(question_on("1 to 5"))
    with served(place.folder, place.corpus, around, told.append) as running:
        progress = "label?who=eve&ask=landing"
        assert "2 of 2 dialogues to go" in ask(running, progress)[1]
        for left in (1, 0):
            page = ask(running, progress)[1]
            address = re.search(r'class="button main" href="(label/[^"?]+)', page)[1]
            turns = re.findall('name="turn" value="([0-9]+)"', ask(running, f"{address}?who=eve&ask=landing")[1])
            assert turns
            for value, turn in enumerate(turns):
                given = fields(running, turn=turn, value=1 + value % 5)
                said = json.loads(send(running, address, given, Accept="application/json")[1])
                assert ("said" in said) is (turn == turns[-1])
            assert (f"{left} of 2 dialogues to go" in said["said"]) is (left > 0)
        assert len(told) == 3 and told[-2].startswith("Whether replies tell anything here is not settled")
        assert told[-1] == "sentiment: nothing can be said"  # three turns a dialogue are too few
        shown = html.unescape(ask(running, progress)[1])
        assert all(line in shown for line in told[1:]) and "uniform:" not in shown
        assert told[1] in html.unescape(ask(running, f"{address}?who=eve&ask=landing")[1])
        send(running, address, {**given, "value": ""})
        assert "1 of 2 dialogues to go" in ask(running, progress)[1]


def test_for_teaching_sessions_that_train_come_first_the_longest_of_them_at_that(labelled):
    running, overlay = labelled
    plain, taught = (
        sessions_to_label(running.run.index, overlay.labels(), "eve", "landing", teaching=on) for on in (False, True)
    )
    assert sorted(one.session_id for one in plain) == sorted(one.session_id for one in taught)
    splits = [one.split for one in taught]
    assert splits[: splits.count("train")] == ["train"] * splits.count("train") and plain[0].split == "test"
