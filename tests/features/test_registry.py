"""A feature is one row: it is measured, told and exported from that, and so is a toy one."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.schema import FRAMES, UTTERANCE_FEATURES
from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.features.export.behaviour import session_tiers
from apportion.features.extract import extract_session
from apportion.features.registry import EMOTIONS, FEATURES, Emotion, Feature, Relative, TimeFraction
from apportion.features.settings import DescriptorSettings, DescriptorThresholds, FeatureSettings
from apportion.features.verbalization.verbalize import describe_session
from tests.features.clips import tone, write_wav
from tests.features.export.sessions import SESSION, table

PAGE = Path(__file__).parents[2] / "docs" / "explanations" / "measurement.md"


def test_the_emotions_are_affectnets_eight_in_the_order_of_their_columns():
    assert EMOTIONS == ("anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise")


def test_every_row_is_on_the_page_and_every_face_has_words_of_its_own():
    words = [row.words for row in FEATURES.values() if isinstance(row.words, Emotion)]
    assert len({w.plain for w in words} - {None}) == len(EMOTIONS) - 2  # disgust and fear are never told
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` | {FEATURES[name].words.signs} |" in page for name in EMOTIONS)
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in FEATURES)
    shares = [row.words for row in FEATURES.values() if isinstance(row.words, TimeFraction)]
    assert {f"weak_{name}" for name, row in FEATURES.items() if getattr(row.words, "weak", None)} <= set(
        DescriptorThresholds.model_fields
    )
    assert {name for share in shares for name, _ in share.levels} <= set(DescriptorThresholds.model_fields)
    assert {row.repeats for row in FEATURES.values()} - {None} <= set(FEATURES)


def _loud_part(name, track, spans, length_s):
    """A toy: the share of the window in which there is sound."""
    return track.series["intensity_db"].mean(spans, length_s)[1], 1.0


def test_a_feature_that_is_one_row_is_measured_told_and_exported(tmp_path, monkeypatch):
    words = Relative("mute", "sparing of sound", "full of sound", "never still")
    row = Feature("sounding", "voice", "fraction", "sound, share", words, measure=_loud_part)
    monkeypatch.setitem(FEATURES, "sounding", row)
    write_wav(tmp_path / "a.wav", tone(1.5))
    turns = (*(Turn(i, "ann", "hm", 0.3 * i, 0.3 * i + 0.2) for i in range(5)), Turn(5, "bob", "?", 0.0, 1.9))
    session = Session("s", turns, (Rating("ann", "bob", "r", 1.0, 0.0, 1.0),), (Media("ann", "audio", "a.wav"),))
    _, means, _ = extract_session(session, tmp_path, FeatureSettings(detector="haar"))
    told = {r["turn"]: r["mean"] for r in means.to_pylist() if r["feature"] == "sounding"}
    assert told[1] == pytest.approx(1.0, abs=0.1) and told[5] == pytest.approx(0.77, abs=0.1)
    tiers = session_tiers(session, means, None, None, 10.0).tiers
    assert [len(tier.intervals) for tier in tiers if tier.kind == "sounding"] == [5]
    rows = [*((i, 0.5 + 0.01 * (i % 2)) for i in range(5)), (5, 0.9)]
    cells = table(UTTERANCE_FEATURES, [(i, "ann", "during", "sounding", mean, 1.0) for i, mean in rows])
    for variant, text in (("words", "never still"), ("numeric", "sounding 0.90"), ("json", '"sounding":{"mean":0.9')):
        described = describe_session(replace(session, session_id="s"), cells, DescriptorSettings(variant=variant))
        assert text in described["text"].to_pylist()[-1]


def test_a_state_of_one_row_is_exported_where_it_is_on(monkeypatch):
    row = Feature("winks", "face", "of the time", "winks, share", TimeFraction("winks", ()), states=True)
    monkeypatch.setitem(FEATURES, "winks", row)
    frames = table(FRAMES, [("bob", "winks", 0.1 * i, float(i in (3, 4))) for i in range(9)])
    shown = [tier for tier in session_tiers(SESSION, None, None, frames, 10.0).tiers if tier.kind == "winks"]
    assert [(i.start_ms, i.end_ms) for i in shown[0].intervals] == [(250, 450)]
