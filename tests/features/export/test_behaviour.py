from dataclasses import replace

from apportion.corpus.schema import EVENTS, FRAMES, UTTERANCE_FEATURES
from apportion.corpus.session import Session
from apportion.features.export.behaviour import session_tiers
from tests.features.export.sessions import DESCRIPTOR_TABLE, FRAME_TABLE, MEANS, SESSION, table


def _shown(
    session: Session = SESSION, means=None, descriptors=None, frames=None, events=None
) -> dict[str, list[tuple]]:
    made = session_tiers(session, means, descriptors, frames, 10.0, events)
    return {t.name: [(i.start_ms, i.end_ms, i.label) for i in t.intervals] for t in made.tiers}


def test_everything_has_its_tier_in_a_fixed_order():
    found = _shown(SESSION, MEANS, DESCRIPTOR_TABLE, FRAME_TABLE)
    assert list(found) == [
        "utterance@ann",
        "utterance@bob",
        "f0_hz@ann",
        "smile@ann",
        "happiness@ann",
        "nod_yes@bob",
        "smile@bob",
        "own_precomputed@bob",
        "descriptor during@bob",
        "descriptor reply@bob",
    ]


def test_utterances_of_a_speaker_and_turns_without_times():
    made = session_tiers(SESSION, None, None, None, 10.0)
    assert made.untimed == 1
    assert made.end_ms == 20000
    assert _shown() == {
        "utterance@ann": [(500, 2000, "Hello."), (2800, 5000, "One more thing."), (5000, 6000, "And another.")],
        "utterance@bob": [(2200, 3000, "Hi."), (6500, 20000, "Yes.")],
    }


def test_means_are_labels_and_the_voice_is_told_in_own_turns_alone():
    found = _shown(means=MEANS)
    assert found["f0_hz@ann"] == [(500, 2000, "212.3")]
    assert found["happiness@ann"] == [(2200, 3000, "0.25")]
    assert found["own_precomputed@bob"] == [(500, 2000, "-3")]
    assert not any(name.startswith(("nod", "f0_hz@bob")) for name in found)


def test_flags_are_intervals_where_on_and_numbers():
    found = _shown(frames=FRAME_TABLE)
    assert found["nod_yes@bob"] == [(250, 550, "nod_yes"), (850, 950, "nod_yes")]
    assert found["smile@bob"] == [(0, 500, "smile"), (1900, 2300, "smile")]
    assert found["smile@ann"] == [(950, 1050, "smile")]
    assert not any(name.startswith(("gaze", "head")) for name in found)
    frames = table(FRAMES, [("bob", "smile", i / 10, float("nan") if i == 1 else 1.0) for i in range(3)])
    assert _shown(frames=frames)["smile@bob"] == [(0, 50, "smile"), (150, 250, "smile")]


def test_events_that_no_feature_shows_have_tiers_of_what_was_said_or_their_kind():
    rows = [
        ("bob", "backchannel", 0.6, 0.9, 1.0, "mhm"),
        ("bob", "nod_yes", 0.6, 0.9, 0.1, None),  # A feature on and off, in the frames.
        ("ann", "pause", 3.0, 4.5, None, None),
    ]
    means = table(UTTERANCE_FEATURES, [(0, "bob", "during", "backchannels", 1.0, 1.0)])
    found = _shown(means=means, events=table(EVENTS, rows))
    assert {name: shown for name, shown in found.items() if not name.startswith("utterance")} == {
        "pause@ann": [(3000, 4500, "pause")],
        "backchannel@bob": [(600, 900, "mhm")],
    }


def test_closed_eyes_are_intervals_and_blinks_a_minute_a_label():
    frames = table(FRAMES, [("bob", "eyes_closed", 0.4 * i, float(1 <= i <= 3)) for i in range(6)])
    means = table(
        UTTERANCE_FEATURES, [(0, "bob", "during", name, 12.0, 1.0) for name in ("eyes_closed", "blinks_per_min")]
    )
    found = _shown(means=means, frames=frames)
    assert found["eyes_closed@bob"] == [(200, 1400, "eyes_closed")]
    assert found["blinks_per_min@bob"] == [(500, 2000, "12")]


def test_descriptors_stand_where_their_window_is_and_one_reply_is_told_once():
    found = _shown(descriptors=DESCRIPTOR_TABLE)
    assert found["descriptor during@bob"] == [(500, 2000, "nods")]
    # The reply to turns 2 and 3 is bob's turn 4, of which the first ten seconds count.
    assert found["descriptor reply@bob"] == [(6500, 16500, "smiling")]


def test_other_sessions_and_text_only_sessions_give_nothing():
    other = replace(SESSION, session_id="other", turns=tuple(replace(t, start_s=None) for t in SESSION.turns))
    made = session_tiers(other, MEANS, DESCRIPTOR_TABLE, FRAME_TABLE, 10.0)
    assert (made.tiers, made.untimed, made.end_ms) == ((), 6, 0)
