"""The table of events, from faces and talk that are known."""

from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.session import Event, Session, Turn
from apportion.decompose.methods import METHODS
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.settings import DecomposeSettings
from apportion.features import extract
from apportion.features.events import session_events
from apportion.features.extract import extract_session
from apportion.features.face.face_features import FaceMeasures
from apportion.features.face.nods import HeadEvents
from apportion.features.registry import measure_track
from apportion.features.settings import DescriptorSettings, FeatureSettings
from apportion.features.time_series import Series, sampled
from apportion.features.verbalization.verbalize import describe_session
from apportion.pipeline.stages.features import DESCRIBE, FEATURES
from tests.corpus.importers.candor_tree import talk, write_tree

TIMES = np.arange(0.05, 10.0, 0.1)
SESSION = Session("s", (Turn(0, "ann", "Hello there.", 0.0, 5.0), Turn(1, "bob", "Mhm.", 2.0, 2.4)))


def face(single=((6.0, 6.5),), smiles=((1.0, 2.0), (7.0, 7.5))):
    smile = np.array([float(any(a <= t < b for a, b in smiles)) for t in TIMES])
    smile[30:32] = np.nan
    head_y = np.where((TIMES > 4) & (TIMES < 5), 0.1 * np.sin(TIMES * 10), 0.0)
    head_y[(TIMES > 6) & (TIMES < 6.5)] = 0.08
    traces = {
        "smile_score": sampled(TIMES, 0.2 + 0.6 * smile, 1.0),
        "head_x": sampled(TIMES, np.zeros_like(TIMES), 1.0),
        "head_y": sampled(TIMES, head_y, 1.0),
    }
    seen = sampled(TIMES, np.ones_like(TIMES), 1.0)
    events = HeadEvents(((4.0, 5.0),), (), single)
    return FaceMeasures({"smile": sampled(TIMES, smile, 1.0)}, traces, events, seen, ((3.0, 3.2),))


def test_every_kind_with_person_times_and_strength():
    events = session_events(SESSION, {"bob": face(), "ann": None}, {"ann": [(8.0, 9.0)]})
    assert [(e.person, e.kind, round(e.start_s, 2), round(e.end_s, 2)) for e in events] == [
        ("ann", "laughter", 8.0, 9.0),
        ("bob", "backchannel", 2.0, 2.4),
        ("bob", "blink", 3.0, 3.2),
        ("bob", "nod_single", 6.0, 6.5),
        ("bob", "nod_yes", 4.0, 5.0),
        ("bob", "smile", 1.0, 2.0),
        ("bob", "smile", 7.0, 7.5),
    ]
    strengths = {e.kind: e.strength for e in events}
    assert strengths["nod_yes"] == pytest.approx(0.2, abs=0.02)
    assert strengths["smile"] == pytest.approx(0.8)
    assert strengths["blink"] is None and strengths["backchannel"] == 1.0
    assert len({(e.person, e.kind, e.start_s) for e in events}) == len(events)


def test_counts_of_a_window_are_those_of_its_events():
    counts = measure_track("face", face(), [(0.0, 6.9)], 6.9)
    assert (counts["nod_yes"], counts["nod_single"]) == ((1.0, pytest.approx(1.0)), (1.0, pytest.approx(1.0)))
    assert counts["smile_onsets"] == (1.0, pytest.approx(6.7 / 6.9, abs=0.01))
    assert measure_track("face", face(), [(1.5, 6.9)], 5.4)["smile_onsets"][0] == 0.0
    assert measure_track("face", face(single=None), [(0.0, 6.9)], 6.9)["nod_single"] == (None, 0.0)


@pytest.mark.parametrize(
    ("turn", "count"),
    [
        (None, 1.0),
        (("Mhm.", 6.1, 6.4), 1.0),  # A listener's word goes with a nod.
        (("No, listen.", 6.1, 6.4), 0.0),
        (("No, listen.", 4.0, 5.8), 0.0),  # Less than 0.3 s before the dip.
        (("No, listen.", 4.0, 5.6), 1.0),
    ],
)
def test_heads_that_dip_with_the_own_words_are_no_single_nods(monkeypatch, tmp_path, turn, count):
    monkeypatch.setattr(extract, "_measure_faces", lambda *_: {"bob": face()})
    own = (Turn(1, "bob", *turn),) if turn else ()
    session = Session("s", (Turn(0, "ann", "Hello there.", 0.0, 9.0), *own))
    _, means, events = extract_session(session, tmp_path, FeatureSettings())
    counts = {(row["turn"], row["feature"]): row["mean"] for row in means.to_pylist() if row["window"] == "during"}
    assert (counts[0, "nod_single"], counts[0, "nod_yes"]) == (count, 1.0)
    assert "nod_single" in events["kind"].to_pylist()


def test_a_smile_ends_where_the_face_is_not_seen():
    spans = face(smiles=((1.0, 5.0),)).smiles
    assert [(round(a, 2), round(b, 2)) for a, b in spans] == [(1.0, 3.0), (3.2, 5.0)]
    apart = Series(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.ones(3))
    assert apart.where_on() == ((0.0, 2.0), (3.0, 4.0))
    assert Series(np.zeros(0), np.zeros(0), np.zeros(0)).where_on() == ()


def test_what_a_corpus_has_goes_before():
    given = Session("s", SESSION.turns, events=(Event("ann", "backchannel", 8.0, 8.2, 2.0, "yeah yeah"),))
    kinds = [(e.person, e.kind) for e in session_events(given, {}, {}) if e.kind == "backchannel"]
    assert kinds == [("ann", "backchannel")]


def test_backchannels_of_a_corpus_without_recordings_reach_table_counts_and_words(tmp_path):
    talks = [talk(1), talk(2)]
    src = write_tree(tmp_path / "src", talks, media=False)
    import_to("candor", src, tmp_path / "corpus", {"media": "none", "transcript": "backbiter"})
    for one in talks:
        session = Corpus.open(tmp_path / "corpus").session(one.id)
        _, means, events = extract_session(session, tmp_path / "corpus", FeatureSettings())
        heard = {row["turn_id"]: row for row in one.turns if row["backchannel"]}
        found = [row for row in events.to_pylist() if row["kind"] == "backchannel"]
        assert {(e["person"], e["start_s"], e["end_s"], e["text"]) for e in found} == {
            (row["backchannel_speaker"], row["backchannel_start"], row["backchannel_stop"], "mhm")
            for row in heard.values()
        }
        counts = {row["turn"] for row in means.to_pylist() if row["feature"] == "backchannels" and row["mean"] == 1.0}
        assert counts == set(heard)
        described = describe_session(session, means, DescriptorSettings())
        assert {(row["turn"], row["window"], row["text"]) for row in described.to_pylist()} == {
            (turn, "during", "says mhm") for turn in heard
        }
        asked = [
            request.messages[-1].content
            for request, meta in session_requests(
                METHODS["llm-multimodal"], session, None, described, DecomposeSettings()
            )
            if set(meta.turns) & set(heard)
        ]
        assert asked and all("says mhm" in text and "measured" not in text for text in asked)
        for stage in (FEATURES, DESCRIBE):
            assert stage.applies(None, None, session)
        timed, untimed = replace(session, events=()), Session(one.id, (Turn(0, "a", "x"),))
        assert FEATURES.applies(None, None, timed) and not DESCRIBE.applies(None, None, timed)
        assert not FEATURES.applies(None, None, untimed)
        assert extract_session(timed, tmp_path / "corpus", FeatureSettings())[1].num_rows == 0
