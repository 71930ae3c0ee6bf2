"""The demo's recordings show and sound what the ground truth says; only cv2 and numpy measure here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import av
import cv2
import cv2.data
import numpy as np
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.demo.builders.planting import EVENT_KINDS

DEMO = Path(__file__).resolve().parents[2] / "demo"
SMILE_HITS = 20
Event = Mapping[str, Any]


@cache
def cascade(name: str) -> Any:
    return cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / f"haarcascade_{name}.xml"))


def films() -> list[Session]:
    return [session for session in Corpus.open(DEMO / "corpus").iter_sessions() if session.media]


FILMS = films()


@cache
def events(session_id: str) -> tuple[Event, ...]:
    truth = json.loads((DEMO / "ground_truth.json").read_text("utf-8"))
    return tuple(next(entry["events"] for entry in truth["sessions"] if entry["session_id"] == session_id))


def of_kind(session_id: str, person: str, *kinds: str) -> list[Event]:
    return [event for event in events(session_id) if event["person"] == person and event["kind"] in kinds]


def within(time_s: float, chosen: list[Event], margin_s: float = 0.0) -> bool:
    return any(event["start_s"] + margin_s <= time_s <= event["end_s"] - margin_s for event in chosen)


def pictures(path: Path, every: int = 1) -> Iterator[tuple[float, np.ndarray]]:
    with av.open(str(path)) as file:
        for number, frame in enumerate(file.decode(video=0)):
            if number % every == 0:
                yield frame.time, frame.to_ndarray(format="gray")


def face(picture: np.ndarray) -> tuple[int, int, int, int] | None:
    found = cascade("frontalface_default").detectMultiScale(picture, 1.1, 5, minSize=(100, 100))
    return max(found, key=lambda box: box[2], default=None)


def smiles(picture: np.ndarray, box: tuple[int, int, int, int]) -> bool:
    left, top, width, height = box
    scaled = cv2.resize(picture[top : top + height, left : left + width], (160, 160))
    _, hits = cascade("smile").detectMultiScale2(np.ascontiguousarray(scaled[96:, 16:144]), 1.7, 1)
    return max(hits, default=0) >= SMILE_HITS


RECORDINGS = [
    pytest.param(film, media, id=f"{film.session_id}-{media.speaker}", marks=[pytest.mark.slow] if number else [])
    for number, film in enumerate(FILMS)
    for media in film.media
]


def sound(path: Path) -> tuple[np.ndarray, int]:
    with av.open(str(path)) as file:
        rate = file.streams.audio[0].rate
        return np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)]), rate


def test_there_are_four_films_of_30_to_60_seconds_and_all_is_small() -> None:
    assert len(FILMS) >= 4
    assert all(film.duration_s is not None and 30 <= film.duration_s <= 60 for film in FILMS)
    files = [path for path in (*(DEMO / "corpus").rglob("*"), DEMO / "ground_truth.json") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 12e6


@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.session_id)
def test_two_people_take_turns_on_one_clock(film: Session) -> None:
    assert len({turn.speaker for turn in film.turns}) == 2
    clock = [time for turn in film.turns for time in (turn.start_s, turn.end_s)]
    assert clock == sorted(clock)
    assert clock[0] >= 0 and clock[-1] <= film.duration_s


@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.session_id)
def test_planted_events_lie_in_the_session_and_meet_a_turn_of_the_other(film: Session) -> None:
    assert events(film.session_id)
    for event in events(film.session_id):
        assert event["kind"] in EVENT_KINDS
        assert 0 <= event["start_s"] < event["end_s"] <= film.duration_s
        own = event["kind"].startswith("pitch")
        spoken = [turn for turn in film.turns if (turn.speaker == event["person"]) == own]
        assert any(turn.start_s <= event["start_s"] <= turn.end_s for turn in spoken)


@pytest.mark.parametrize(("film", "media"), RECORDINGS)
def test_picture_and_sound_last_as_long_as_the_session(film: Session, media: Any) -> None:
    samples, rate = sound(DEMO / "corpus" / media.path)
    times = [time for time, _ in pictures(DEMO / "corpus" / media.path)]
    assert times[0] == 0
    assert times[-1] + 1 / 15 == pytest.approx(film.duration_s, abs=0.02)
    assert len(samples) / rate == pytest.approx(film.duration_s, abs=0.15)


@pytest.mark.parametrize(("film", "media"), RECORDINGS)
def test_only_the_speaker_is_heard(film: Session, media: Any) -> None:
    samples, rate = sound(DEMO / "corpus" / media.path)
    loud = {
        turn.turn: float(np.sqrt(np.mean(samples[int(turn.start_s * rate) : int(turn.end_s * rate)] ** 2)))
        for turn in film.turns
    }
    own = [loud[turn.turn] for turn in film.turns if turn.speaker == media.speaker]
    other = [loud[turn.turn] for turn in film.turns if turn.speaker != media.speaker]
    assert min(own) > 20 * max(other)
    assert min(other) > 0  # a noise floor, not digital silence


@pytest.mark.parametrize(("film", "media"), RECORDINGS)
def test_the_face_is_found_in_nine_of_ten_frames_and_smiles_when_planted(film: Session, media: Any) -> None:
    planted = of_kind(film.session_id, media.speaker, "smile")
    seen: dict[bool, list[bool]] = {True: [], False: []}
    found = []
    for time_s, picture in pictures(DEMO / "corpus" / media.path, every=6):
        box = face(picture)
        found.append(box is not None)
        smiling = within(time_s, planted, margin_s=0.3)
        if box is not None and smiling == within(time_s, planted, margin_s=-0.1):  # not while the mouth changes
            seen[smiling].append(smiles(picture, box))
    assert np.mean(found) >= 0.9
    assert len(seen[True]) + len(seen[False]) > 0.8 * len(found)
    assert np.mean(seen[False]) < 0.2
    if planted:
        assert np.mean(seen[True]) - np.mean(seen[False]) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "axis"), [("nod_yes", 1), ("nod_no", 0)])
def test_the_head_swings_at_two_hertz_along_its_axis_in_nods_and_shakes_and_not_at_rest(kind: str, axis: int) -> None:
    swings, rests = [], []
    for film in FILMS:
        for media in film.media:
            chosen = of_kind(film.session_id, media.speaker, kind)[:1]
            if not chosen:
                continue
            busy = of_kind(film.session_id, media.speaker, "nod_yes", "nod_no")
            start_s = chosen[0]["start_s"]
            rest_s = next(
                time
                for time in np.arange(0.2, 30, 0.5)
                if not any(within(time + step, busy, -0.1) for step in (0.0, 0.5, 1.0, 1.5, 2.0))
            )
            swings.append(_power(DEMO / "corpus" / media.path, start_s, axis))
            rests.append(_power(DEMO / "corpus" / media.path, rest_s, axis))
    assert len(swings) >= 2
    assert min(swings) > 5 * max(rests)


def _power(path: Path, start_s: float, axis: int) -> float:
    """Power of the face centre's motion between 1.5 and 2.5 Hz in the 2 s from ``start_s``, in face heights squared."""
    centres = []
    for time_s, picture in pictures(path):
        if time_s > start_s + 2.0:
            break
        box = face(picture) if time_s >= start_s else None
        if box is not None:
            centres.append((box[axis] + box[axis + 2] / 2) / box[3])
    assert len(centres) >= 25
    spectrum = np.abs(np.fft.rfft(centres - np.mean(centres))) ** 2 / len(centres)
    rates = np.fft.rfftfreq(len(centres), 1 / 15)
    return float(spectrum[(rates >= 1.4) & (rates <= 2.6)].sum())


@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.session_id)
def test_planted_pitch_is_away_from_the_person_s_own(film: Session) -> None:
    for media in film.media:
        samples, rate = sound(DEMO / "corpus" / media.path)
        planted = of_kind(film.session_id, media.speaker, "pitch_up", "pitch_down")
        pitch = {
            (turn.start_s, turn.end_s): _pitch(samples[int(turn.start_s * rate) : int(turn.end_s * rate)], rate)
            for turn in film.turns
            if turn.speaker == media.speaker
        }
        shifted = {(event["start_s"], event["end_s"]): event["kind"] for event in planted}
        calm = [value for span, value in pitch.items() if span not in shifted]
        for span, kind in shifted.items():
            if kind == "pitch_up":
                assert pitch[span] > 1.15 * max(calm)
            else:
                assert pitch[span] < min(calm) / 1.15


def _pitch(samples: np.ndarray, rate: int) -> float:
    """Median pitch in Hz of 40 ms pieces by autocorrelation, over the louder half of them."""
    size = int(0.04 * rate)
    pieces = samples[: len(samples) // size * size].reshape(-1, size)
    loud = pieces[(pieces**2).mean(axis=1) >= np.median((pieces**2).mean(axis=1))]
    low, high = rate // 400, rate // 90
    lags = [np.correlate(piece, piece, "full")[size - 1 :][low:high].argmax() + low for piece in loud]
    return float(rate / np.median(lags))
