"""Writes a fake CANDOR: its folders, columns, types and scales, with made-up people, words and figures.

What the real files hold is public in prose alone (the data are gated); `test_candor_tree` compares this page with
../shared's candor_schema.json, which says where each name was seen.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from tests.features.clips import flat, tone, write_movie, write_wav

TURN = ("turn_id", "speaker", "start", "stop", "utterance")
REACTION = (
    "backchannel",
    "backchannel_count",
    "backchannel_speaker",
    "backchannel_start",
    "backchannel_stop",
)
MEASURES = ("interval", "delta", "questions", "end_question", "overlap", "n_words")
TRANSCRIPTS = {
    "audiophile": TURN + MEASURES,
    "backbiter": TURN + REACTION + MEASURES,
    "cliffhanger": TURN + MEASURES,
}
EMOTIONS = ("anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise")
BEHAVIOUR = ("timedelta", "user_id", "is_speaking", "gaze_on", "intensity", *(f"prob_face_{e}" for e in EMOTIONS))
METADATA = ("id", "sessionId", "createdAt", "speakers")
SPEAKER = ("user_id", "channel")
NINE = ("overall_affect", "affect", "pre_affect", "begin_affect", "middle_affect", "end_affect", "best_affect")
SCALES = {
    **dict.fromkeys((*NINE, "how_enjoyable"), (1, 9)),
    **dict.fromkeys(("i_like_you", "you_like_me"), (1, 7)),
    **dict.fromkeys(("conversationalist", "my_friends_like_you", "good_for_advice"), (0, 100)),
}
KEYS = ("user_id", "partner_id", "convo_id", "date", "survey_duration_in_seconds", "time_zone")
OF_UNKNOWN_SCALE = ("overall_arousal", "worst_affect", "in_common", "my_mind_wander", "you_are_funny", "politics")
FREE_TEXT = ("sex", "critical_positive", "critical_negative", "employ_7_TEXT")
SURVEY = (*KEYS, *SCALES, *OF_UNKNOWN_SCALE, *FREE_TEXT)
WORDS = ("So where are you from?", "I moved here last year.", "Oh, that is nice, really.", "Yeah.", "What do you do?")

Row = dict[str, Any]


@dataclass(frozen=True)
class Talk:
    """One made-up conversation: ``people`` are on the left and the right channel."""

    id: str
    people: tuple[str, str]
    turns: tuple[Row, ...]
    survey: tuple[Row, ...]
    behaviour: tuple[Row, ...]
    metadata: Row


def talk(number: int, turns: int = 12, seconds_a_turn: float = 2.0) -> Talk:
    """The conversation ``number``; equal numbers give equal conversations."""
    rng = random.Random(number)
    id_ = str(UUID(int=rng.getrandbits(128), version=4))
    left, right = (f"{rng.getrandbits(96):024x}" for _ in range(2))
    spoken = _turns(rng, (left, right), turns, seconds_a_turn)
    seconds = int(spoken[-1]["stop"]) + 1
    speakers = [{"user_id": left, "channel": "L"}, {"user_id": right, "channel": "R"}]
    described = {"id": id_, "sessionId": f"s{number}", "createdAt": 1_590_000_000_000 + number, "speakers": speakers}
    survey = tuple(_answers(rng, id_, user, partner) for user, partner in ((left, right), (right, left)))
    behaviour = tuple(_second(rng, at, user) for at in range(seconds) for user in (left, right))
    return Talk(id_, (left, right), spoken, survey, behaviour, described)


def _turns(rng: random.Random, people: Sequence[str], turns: int, seconds: float) -> tuple[Row, ...]:
    rows: list[Row] = []
    for number in range(turns):
        start = round(number * seconds + rng.uniform(-0.2, 0.2) * (number > 0), 2)
        stop = round(start + seconds * rng.uniform(0.5, 1.0), 2)
        said = rng.choice(WORDS)
        gap = "" if not rows else round(start - rows[-1]["stop"], 2)
        reacts = number % 4 == 1
        rows.append(
            {
                "turn_id": number,
                "speaker": people[number % 2],
                "start": start,
                "stop": stop,
                "utterance": said,
                "backchannel": "mhm" if reacts else "",
                "backchannel_count": int(reacts),
                "backchannel_speaker": people[1 - number % 2] if reacts else "",
                "backchannel_start": round(start + 0.1, 2) if reacts else "",
                "backchannel_stop": round(start + 0.3, 2) if reacts else "",
                "interval": gap,
                "delta": round(stop - start, 2),
                "questions": said.count("?"),
                "end_question": said.endswith("?"),
                "overlap": gap != "" and gap < 0,
                "n_words": len(said.split()),
            }
        )
    return tuple(rows)


def _answers(rng: random.Random, id_: str, user: str, partner: str) -> Row:
    row: Row = {"user_id": user, "partner_id": partner, "convo_id": id_, "date": "2020-06-01"}
    row |= {"survey_duration_in_seconds": rng.randint(300, 3000), "time_zone": "US/Eastern"}
    row |= {name: rng.randint(*ends) for name, ends in SCALES.items()}
    row |= {name: float(rng.randint(1, 7)) for name in OF_UNKNOWN_SCALE}
    return row | {"sex": "female", "critical_positive": 'We "clicked", quickly.\nReally.'}


def _second(rng: random.Random, at: int, user: str) -> Row:
    clock = f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
    row: Row = {"timedelta": clock, "user_id": user, "is_speaking": bool(at % 4 < 2), "gaze_on": rng.randint(0, 1)}
    weights = [rng.random() for _ in EMOTIONS]
    face = at % 7 != 3
    row["intensity"] = round(rng.uniform(0.01, 0.2), 4)
    return row | {
        f"prob_face_{name}": weight / sum(weights) if face else ""
        for name, weight in zip(EMOTIONS, weights, strict=True)
    }


def write_tree(root: Path, talks: Sequence[Talk], *, media: bool = True, behaviour: bool = True) -> Path:
    """The layout of a folder a conversation: ``root/<uuid>/``; ``media=False`` is the download without recordings."""
    for one in talks:
        folder = root / one.id
        (folder / "transcription").mkdir(parents=True)
        write_json(folder / "metadata.json", one.metadata)
        write_table(folder / "survey.csv", SURVEY, one.survey)
        write_table(folder / "audio_video_features.csv", BEHAVIOUR, one.behaviour if behaviour else ())
        write_transcripts(folder / "transcription", one)
        if media:
            write_media(folder / "processed", one)
    return root


def write_package(root: Path, talks: Sequence[Talk], *, transcripts: bool = True) -> Path:
    """The layout of one survey for all; ``transcripts=False`` leaves the transcripts to ``raw/<uuid>/``."""
    for one in talks:
        folder = root / "raw" / one.id
        (folder / "transcription").mkdir(parents=True)
        write_json(folder / "metadata.json", one.metadata)
        if not transcripts:
            write_transcripts(folder / "transcription", one)
    write_table(root / "survey.tsv", SURVEY, [row for one in talks for row in one.survey])
    if transcripts:
        for kind in ("backbiter", "cliffhanger"):
            rows = [{"convo_id": one.id, **row} for one in talks for row in one.turns]
            write_table(root / f"transcript_{kind}.tsv", ("convo_id", *TRANSCRIPTS[kind]), rows)
    return root


def write_transcripts(folder: Path, one: Talk) -> None:
    for kind, columns in TRANSCRIPTS.items():
        write_table(folder / f"transcript_{kind}.csv", columns, one.turns)
    write_json(folder / "transcribe_output.json", {"results": {"transcripts": [{"transcript": "made up"}]}})


def write_media(folder: Path, one: Talk) -> None:
    """A stereo mp3 (WAV inside: what a file holds counts), a video a speaker, one side by side, and who is where.

    The speaker on the left is a buzz of 120 Hz, the one on the right of 220 Hz, each in their own turns.
    """
    folder.mkdir()
    rate_hz = 8000
    sound = np.zeros((2, int((one.turns[-1]["stop"] + 0.5) * rate_hz)))
    for row in one.turns:
        first, side = int(row["start"] * rate_hz), one.people.index(row["speaker"])
        samples = tone(row["stop"] - row["start"], (120.0, 220.0)[side], rate_hz)[: sound.shape[1] - first]
        sound[side, first : first + len(samples)] = samples
    write_wav(folder / f"{one.id}.mp3", sound, rate_hz, "pcm_s16le")
    seconds = sound.shape[1] / rate_hz
    for name, width in ((one.people[0], 64), (one.people[1], 64), (one.id, 128)):
        write_movie(folder / f"{name}.mp4", [flat(width=width)] * int(seconds * 5), fps=5)
    write_json(folder / "channel_map.json", dict(zip("LR", one.people, strict=True)))
    (folder / "thumbnail.png").write_bytes(b"\x89PNG\r\n")


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def rewrite(path: Path, change: Callable[[list[Row]], list[Row] | None]) -> None:
    """Change the rows of a CSV file in place: ``change`` edits the list it is given, or returns another."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows: list[Row] = list(reader)
        columns = list(reader.fieldnames or [])
    changed = change(rows)
    write_table(path, columns, rows if changed is None else changed)
