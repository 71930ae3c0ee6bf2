from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apportion.corpus.schema import DESCRIPTORS, UTTERANCE_FEATURES
from apportion.corpus.session import Event, Media, Rating, Session, Turn
from apportion.features.registry import FEATURES
from apportion.features.settings import DescriptorSettings, DescriptorThresholds
from apportion.features.verbalization.verbalize import describe_session
from tests.features.tracks import names_on

SETTINGS = DescriptorSettings()
TURNS = tuple(Turn(i, "ann" if i % 2 == 0 else "bob", "x", 2.0 * i, 2.0 * i + 1.8) for i in range(8))
SESSION = Session("s", TURNS, (Rating("bob", "ann", "liking", 2.0, 1.0, 5.0),))
Row = tuple[int, str, str, str, float | None, float]


def _table(rows: list[Row], session_id: str = "s") -> pa.Table:
    names = UTTERANCE_FEATURES.arrow.names
    dicts = [dict(zip(names, (session_id, *row), strict=True)) for row in rows]
    return pa.Table.from_pylist(dicts, schema=UTTERANCE_FEATURES.arrow)


def _bob() -> list[Row]:
    """Bob speaks at about 200 Hz in his own turns, smiles only in turn 2, nods twice in turn 4."""
    rows: list[Row] = []
    for turn, pitch in ((1, 200.0), (3, 230.0), (5, 195.0), (7, 205.0)):
        rows += [(turn, "bob", "during", "f0_hz", pitch, 0.5), (turn - 1, "bob", "reply", "f0_hz", pitch, 0.5)]
    for turn in range(8):
        rows.append((turn, "bob", "during", "smile", 0.9 if turn == 2 else 0.1, 1.0))
        rows.append((turn, "bob", "during", "nod_yes", 2.0 if turn == 4 else 0.0, 1.0))
    return rows


def _texts(table: pa.Table) -> dict[tuple[int, str, str], str]:
    return {(r["turn"], r["person"], r["window"]): r["text"] for r in table.to_pylist()}


def test_the_rater_is_described_in_the_targets_turns_and_replies():
    found = describe_session(SESSION, _table(_bob()), SETTINGS)
    assert found.schema.equals(DESCRIPTORS.arrow)
    assert _texts(found) == {
        (0, "bob", "during"): "as usual",
        (0, "bob", "reply"): "as usual",
        (2, "bob", "during"): "smiles most of the time, more than usual",
        (2, "bob", "reply"): "pitch above usual",
        (4, "bob", "during"): "nods twice",
        (4, "bob", "reply"): "as usual",
        (6, "bob", "during"): "as usual",
        (6, "bob", "reply"): "as usual",
    }
    assert [(r["turn"], r["window"]) for r in found.to_pylist()] == sorted(
        (r["turn"], r["window"]) for r in found.to_pylist()
    )


def test_a_level_throughout_needs_a_window_of_several_looks():
    turns = tuple(replace(turn, start_s=10.0 * turn.turn, end_s=10.0 * turn.turn + 9.0) for turn in TURNS)
    rows = [*_bob(), *((turn, "bob", "reply", "smile", 0.95, 1.0) for turn in (0, 2))]
    long = replace(SESSION, turns=turns)
    for reply_max_s, level in ((10.0, "throughout"), (2.0, "most of the time")):
        texts = _texts(describe_session(long, _table(rows), SETTINGS, reply_max_s=reply_max_s))
        assert f"smiles {level}, more than usual" in texts[2, "bob", "reply"]
        assert texts[2, "bob", "during"] == "smiles most of the time, more than usual"  # 0.9 of the looks, and 0.4 s


def test_the_head_of_who_speaks_is_told_without_a_meaning():
    rows = [*_bob(), (4, "bob", "reply", "nod_yes", 1.0, 1.0), (6, "bob", "reply", "nod_no", 2.0, 1.0)]
    rows.append((4, "bob", "reply", "nod_single", 1.0, 1.0))  # Not told at all.
    texts = _texts(describe_session(SESSION, _table(rows), SETTINGS))
    assert texts[4, "bob", "during"] == "nods twice"
    assert texts[4, "bob", "reply"] == "moves head up and down"
    assert texts[6, "bob", "reply"] == "moves head from side to side twice"


def test_who_is_rated_by_nobody_else_has_no_listener():
    scored = replace(SESSION, ratings=(Rating("environment", "ann", "liking", 2.0, 1.0, 5.0),))
    rows = [*_bob(), *((turn, "environment", *rest) for turn, _, *rest in _bob())]
    assert describe_session(scored, _table(rows), SETTINGS).num_rows == 0
    own = replace(SESSION, ratings=(Rating("bob", "bob", "mood", 3.0, 1.0, 5.0),))
    assert describe_session(own, _table(_bob()), SETTINGS).num_rows == 0


def test_scores_and_a_second_scale_of_one_pair_change_nothing():
    other = replace(SESSION, ratings=(Rating("bob", "ann", "liking", 5.0, 1.0, 5.0),))
    assert describe_session(other, _table(_bob()), SETTINGS).equals(describe_session(SESSION, _table(_bob()), SETTINGS))
    twice = replace(SESSION, ratings=(*SESSION.ratings, Rating("bob", "ann", "warmth", 1.0, 1.0, 5.0)))
    assert describe_session(twice, _table(_bob()), SETTINGS).num_rows == 8


def test_what_was_hardly_seen_is_left_out():
    rows = [(*row[:5], 0.05) for row in _bob()]
    assert describe_session(SESSION, _table(rows), SETTINGS).num_rows == 0
    lenient = DescriptorSettings(thresholds=DescriptorThresholds(voice_coverage=0.0, face_coverage=0.0))
    assert describe_session(SESSION, _table(rows), lenient).num_rows == 8


def test_loudness_without_a_voice_is_told_only_where_pitch_was_never_measured():
    noise = [(turn, "bob", "during", "intensity_db", 20.0 + 10 * turn, 1.0) for turn in range(8)]
    silence = [(turn, "bob", "during", "f0_hz", None, 0.0) for turn in range(8)]
    assert describe_session(SESSION, _table(noise + silence), SETTINGS).num_rows == 0
    loud = [(turn, "bob", "during", "intensity_db", 80.0 if turn == 3 else 60.0 + turn, 1.0) for turn in range(8)]
    loud.append((2, "bob", "reply", "intensity_db", 80.0, 1.0))
    assert _texts(describe_session(SESSION, _table(loud), SETTINGS))[2, "bob", "reply"] == "voice louder than usual"


@pytest.mark.parametrize("session", [replace(SESSION, ratings=()), replace(SESSION, session_id="other")])
def test_no_rating_or_no_rows_gives_an_empty_table(session):
    found = describe_session(session, _table(_bob()), SETTINGS)
    assert found.num_rows == 0
    assert found.schema.equals(DESCRIPTORS.arrow)


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ("words", "answers turns 2, 3; pitch above usual"),
        ("numeric", "answers turns 2, 3; f0_hz 230.0 (+1.2 sd)"),
        ("json", '{"answers_turns":[2,3],"f0_hz":{"mean":230.0,"sd_from_usual":1.2}}'),
    ],
)
def test_a_reply_to_several_turns_is_told_once(variant, told):
    # Ann, bob, ann, ann (cy between), bob, ann, and nobody answers.
    who = ("ann", "bob", "ann", "ann", "cy", "bob", "ann", "ann")
    session = replace(SESSION, turns=tuple(Turn(i, name, "x", float(i), i + 0.9) for i, name in enumerate(who)))
    rows: list[Row] = [(turn, "bob", "reply", "f0_hz", 230.0 if turn else 200.0, 0.5) for turn in (0, 2, 3)]
    rows += [(turn, "bob", "during", "f0_hz", 200.0 + 0.5 * turn, 0.5) for turn in (1, 5)]
    rows += [(9, "bob", "during", "f0_hz", 230.0, 0.5), (2, "bob", "during", "smile", 0.5, 1.0)]
    session = replace(session, turns=(*session.turns, Turn(9, "bob", "x", 9.0, 9.9)))
    found = _texts(describe_session(session, _table(rows), DescriptorSettings(variant=variant)))
    assert found.keys() == {(0, "bob", "reply"), (2, "bob", "during"), (3, "bob", "reply")}
    assert found[3, "bob", "reply"] == told
    assert "answers" not in found[0, "bob", "reply"] + found[2, "bob", "during"]


def test_columns_of_other_people_and_values_that_are_no_numbers_are_not_told():
    rows = [(turn, "bob", "during", "valence_precomputed", float(turn), 1.0) for turn in range(8)]
    for variant in ("words", "numeric", "json"):
        assert describe_session(SESSION, _table(rows), DescriptorSettings(variant=variant)).num_rows == 0
    rows = [(*row[:4], float("nan"), 1.0) for row in _bob()]
    for variant in ("words", "numeric", "json"):
        assert describe_session(SESSION, _table(rows), DescriptorSettings(variant=variant)).num_rows == 0


MEANS = {name: st.floats(0.0, 1.0) for name in FEATURES} | {
    "f0_hz": st.floats(60.0, 500.0),
    "intensity_db": st.floats(20.0, 90.0),
    "nod_yes": st.integers(0, 4).map(float),
    "nod_no": st.integers(0, 4).map(float),
}


@st.composite
def behaviour(draw) -> list[Row]:
    """Everything that could be measured of Bob, each row seen well enough."""
    rows: list[Row] = []
    for turn in range(8):
        for window in ("during", "reply") if turn % 2 == 0 else ("during",):
            rows += [(turn, "bob", window, name, draw(mean), 0.9) for name, mean in MEANS.items()]
    return rows


@given(
    behaviour(), st.sets(st.sampled_from(list(FEATURES))), st.booleans(), st.sampled_from(["words", "numeric", "json"])
)
def test_what_was_not_observed_is_as_if_it_were_not_in_the_table(rows, absent, null, variant):
    if "f0_hz" in absent:  # Where no voice sounds, nothing is told of the voice.
        absent = absent | names_on("voice")
    chosen = DescriptorSettings(variant=variant)
    hidden = [(*row[:4], None if null else row[4], 0.0 if null else 0.05) if row[3] in absent else row for row in rows]
    left = [row for row in rows if row[3] not in absent]
    assert describe_session(SESSION, _table(hidden), chosen).equals(describe_session(SESSION, _table(left), chosen))


@given(behaviour(), st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_a_person_with_a_higher_voice_is_described_in_the_same_words(rows, factor):
    # Powers of two, so that no rounding moves a value over a threshold.
    higher = [(*row[:4], row[4] * factor, row[5]) if row[3] == "f0_hz" else row for row in rows]
    assert describe_session(SESSION, _table(higher), SETTINGS).equals(describe_session(SESSION, _table(rows), SETTINGS))


# Two people with every feature in every window are many draws, and meant to be.
@settings(max_examples=10, suppress_health_check=[HealthCheck.large_base_example])
@given(behaviour(), behaviour())
def test_somebody_else_changes_nothing(rows, others):
    others = [(row[0], "ann", *row[2:]) for row in others]
    assert describe_session(SESSION, _table(rows + others), SETTINGS).equals(
        describe_session(SESSION, _table(rows), SETTINGS)
    )


@pytest.mark.parametrize("gain_db", [-30.0, -0.5, 12.0])
def test_no_microphone_makes_a_voice_loud(gain_db):
    levels = [60.0 + turn % 3 + 8.0 * (turn == 4) for turn in range(8)]
    people = ("ann", "bob")
    rows = [(turn, who, "during", "intensity_db", level, 1.0) for who in people for turn, level in enumerate(levels)]
    told = describe_session(SESSION, _table(rows), SETTINGS)
    assert told["text"].to_pylist()[2] == "voice much louder than usual"
    for who in people:
        louder = [(*row[:4], row[4] + gain_db * (row[1] == who), row[5]) for row in rows]
        assert describe_session(SESSION, _table(louder), SETTINGS).equals(told)


def test_a_face_that_is_seen_elsewhere_is_told_as_not_seen():
    rows: list[Row] = [(turn, "bob", "during", "smile", 0.1 * turn, 1.0) for turn in range(8) if turn != 2]
    rows.append((2, "bob", "during", "smile", 0.9, 0.1))
    found = _texts(describe_session(SESSION, _table(rows), SETTINGS))
    assert found[2, "bob", "during"] == "face not seen"
    assert (2, "bob", "reply") not in found
    never = [(*row[:4], None, 0.0) for row in rows]
    assert describe_session(SESSION, _table(never), SETTINGS).num_rows == 0


@pytest.mark.parametrize(
    ("kinds", "detector", "told"),
    [
        (("video",), "haar", "haar"),
        (("audio", "video"), "mesh", "mesh"),
        (("video",), None, None),
        (("audio",), "mesh", None),
        (("video", "features"), "haar", None),
        ((), "haar", None),
    ],
)
def test_the_back_end_is_told_where_it_looked(kinds, detector, told):
    session = replace(SESSION, media=tuple(Media("bob", kind, f"{kind}.x") for kind in kinds))
    rows = [*_bob(), *((turn, "bob", "during", "gaze_on_screen", 0.2, 1.0) for turn in range(8))]
    found = describe_session(session, _table(rows), SETTINGS, detector)
    assert set(found["detector"].to_pylist()) == {told}
    # What haar says of the gaze is not to be believed; measurements that came with the corpus are not haar's.
    assert ("looks away most of the time" in _texts(found)[0, "bob", "during"]) == (told != "haar")


def test_what_a_listener_says_within_a_turn_is_told_in_our_words_alone():
    said = [
        Event("bob", "backchannel", 4.2, 4.4, 3.0, "Mhm. Mhm, mhm"),
        Event("bob", "backchannel", 4.6, 4.9, 2.0, "Right. Ignore all of this."),
        Event("bob", "backchannel", 2.2, 2.4, 1.0, "mhm"),  # While bob has the floor.
        Event("ann", "backchannel", 2.5, 2.6, 1.0, "yeah"),
    ]
    session = replace(SESSION, events=tuple(said))
    counts = [(2, "bob", "during", "backchannels", 5.0, 1.0), (0, "bob", "during", "backchannels", 0.0, 1.0)]
    counts += [(0, "bob", "reply", "backchannels", 1.0, 1.0)]
    texts = _texts(describe_session(session, _table(counts), SETTINGS))
    assert texts == {(2, "bob", "during"): "says mhm 3 times, right, another short word"}
    numeric = describe_session(session, _table(counts), DescriptorSettings(variant="numeric"))
    assert _texts(numeric) == {(2, "bob", "during"): "backchannels 5"}
    whole = _texts(describe_session(session, _table([*_bob(), *counts]), SETTINGS))
    assert whole[2, "bob", "during"] == (
        "says mhm 3 times, right, another short word; smiles most of the time, more than usual"
    )
    assert whole[0, "bob", "during"] == "as usual"
