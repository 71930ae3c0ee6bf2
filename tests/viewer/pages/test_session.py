import html as html_
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import HTTPException

from apportion.foundation.errors import UnitError
from apportion.viewer.labels.label import Label, Question, said_digest
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.session import evidence_html, html, tracks_html
from apportion.viewer.views.session.view import SessionQuery
from tests.viewer.runs import ask, served
from tests.viewer.talks import WILD, write_talk_run


def page(talks, slug="talk", bundled=False, **asked):
    return html(talks.run, Links(f"session/{slug}", bundled=bundled), overlay_of(talks), slug, SessionQuery(**asked))


def evidence(talks, slug, turn, rating=0):
    return evidence_html(talks.run, Links(f"session/{slug}"), overlay_of(talks), slug, turn, rating)


def overlay_of(served):
    return Overlay(overlay_beside(served.run.place.folder))


def test_a_page_has_everything_that_its_session_has(talks):
    text = page(talks)
    assert text.count('<li id="turn-') == 10
    assert '<video src="../media/talk/0"' in text and '<audio src="../media/talk/1"' in text
    assert 'data-offset="0.5"' in text
    assert "0.6 s over turn 3" in text
    # Interval lines of seeds beside a turn and over the axis; a sample's spread the same.
    assert text.count('class="seeds"') == 10 and text.count('class="samples"') == 10
    assert "= score" in text and "people: landed" in text
    assert '<details class="known"><summary>Goals and roles' in text


def test_evidence_comes_when_it_is_asked_for(talks):
    assert "because of the word 4" not in page(talks)
    assert "because of the word 4" in page(talks, turn=4)
    part = evidence(talks, "talk", 4)
    for words in ("because of the word 4", "nods twice", "Sentence number 5 of talk", "eve", "samples: 0, 1, 2"):
        assert words in part
    assert "+0.700, +0.800, +0.900" in part


def test_behaviour_comes_when_it_is_asked_for(talks):
    assert "Pitch" not in page(talks)
    for text in (page(talks, tracks=True), tracks_html(talks.run, Links("session/talk"), "talk")):
        assert "Pitch" in text and "Nods" in text and "160" in text
    # Without measured series the means of turns are drawn; without times there is no axis to draw them on.
    assert "Pitch" in tracks_html(talks.run, Links("session/gone"), "gone")
    assert "Nothing was measured" in tracks_html(talks.run, Links("session/chat"), "chat")


def test_a_bundle_holds_what_is_folded_and_no_recording(talks):
    text = page(talks, bundled=True)
    assert "because of the word 4" in text and "Pitch" in text
    assert "<video" not in text and "media/" not in text and "recordings are not in this copy" in text


def test_nothing_of_a_corpus_is_read_as_html(talks):
    text = page(talks, "wild", turn=4) + evidence(talks, "wild", 4)
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text and "<img src=x" not in text and "\u202e" not in text
    assert WILD not in text
    assert 'href="javascript' not in text


def test_the_signals_that_paid_a_turn_stand_below_it(talk_run, tmp_path):
    shutil.copytree(talk_run, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    rewards = pq.read_table(talk_run / "rewards.parquet")
    paid = {"method": "llm-rubric", "rationale": f"+2 warm_thanks: {WILD}\n-0.5 sighs: The rater sighs.\nnot a signal"}
    rows = [{**row, **paid} if row["method"] == "judge" else row for row in rewards.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=rewards.schema), tmp_path / "run" / "rewards.parquet")
    with served(tmp_path / "run", talk_run.parent / "corpus") as running:
        text = page(running)
    chips = re.findall(r'<abbr class="tag (good|bad)" title="([^"]*)">([^<]*)</abbr>', text)
    assert len(chips) == 2 * len({row["turn"] for row in rows if row["session_id"] == "talk" and row["rationale"]})
    assert chips[0][::2] == ("good", "+2 warm thanks") and "&lt;script&gt;alert(1)" in chips[0][1]
    assert chips[1] == ("bad", "The rater sighs.", "−0.5 sighs") and "<script>alert" not in text


def test_what_the_run_does_not_have_is_not_found(talks):
    with pytest.raises(HTTPException, match="no such session") as caught:
        page(talks, "nobody")
    assert caught.value.status_code == 404
    with pytest.raises(HTTPException, match="no turn 99"):
        evidence(talks, "talk", 99)


def test_one_of_several_scores_is_chosen(talks):
    first, second = page(talks, "chat"), page(talks, "chat", rating=1)
    assert "bob rates ann" in first and "ann rates bob" in first
    assert "because" not in second and "The run has no rewards" not in second  # Labels are there for any score.
    assert 'class="line method' in first and "warmth, on 1 to 5" in second
    assert page(talks, "chat", rating=99) == first


def test_a_series_of_the_address_comes_to_the_front(talks):
    assert "learner</bdi></a>" in page(talks)
    text = page(talks, method="learner")
    rows = [row.split("</bdi>")[0] for row in text.split('<div class="line method')[1:]]
    front = [row.rsplit(">", 1)[1] for row in rows if " front" in row.split(">")[0]]
    assert front == ["learner"]


def test_a_table_of_frames_that_is_damaged_is_told(tmp_path):
    run = write_talk_run(tmp_path)
    (run / "frames" / "talk.parquet").write_bytes(b"no table")
    with served(run) as server, pytest.raises(UnitError, match=r"talk\.parquet: not a readable table"):
        tracks_html(server.run, Links("session/talk"), "talk")


def test_every_list_leads_to_the_episode_that_its_line_is_of(talks):
    listed = ask(talks).text
    rows = re.findall(r'<tr role="row">\n<th.*?</tr>', listed, re.DOTALL)
    both = [row for row in rows if ">chat</bdi>" in row]
    assert len(both) == 2
    for row in both:
        rater, target = re.search(r"<small><bdi>(\w+) → (\w+)</bdi>", row).groups()
        address = html_.unescape(re.search(r'c-session"><a href="([^"]+)"', row)[1])
        assert re.search(rf'<span class="of"><bdi>{rater} rates {target}', ask(talks, address).text), address
    assert {("rating=1" in row) for row in both} == {True, False}


def test_what_somebody_said_beside_the_run_goes_before_what_the_corpus_has_of_them(talk_run, tmp_path):
    shutil.copytree(talk_run, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    with served(tmp_path / "run", talk_run.parent / "corpus") as running:
        assert "<bdi>eve</bdi>: <b>4</b>" in evidence(running, "talk", 4)
        overlay = overlay_of(running)
        overlay.ask(Question("landed", "How?", 0.0, 8.0, 1.0, "badly", "well"))
        said = said_digest("ann", "Sentence number 4 of talk. ")
        overlay.add(*(Label("talk", 4, said, who, "landed", 7.0, 0.0, 8.0, True, "") for who in ("eve", "kim")))
        part = evidence(running, "talk", 4)
    assert re.findall(r"<bdi>(\w+)</bdi>: <b>(\d)</b>", part) == [("eve", "7"), ("kim", "7")]
