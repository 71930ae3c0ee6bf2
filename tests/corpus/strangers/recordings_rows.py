"""Recordings that say one thing in their headers and play another, or that belong to somebody else."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from apportion.corpus.corpus import Corpus
from tests.corpus.strangers.row import Row
from tests.features.clips import (
    flat,
    tone,
    write_movie,
    write_mp3_without_header,
    write_tracks,
    write_two_videos,
    write_wav,
)

KIND = "recordings"
VOICE = tone(2.0)
SILENCE = 0 * VOICE
HISS = 1e-4 * np.random.default_rng(1).normal(size=VOICE.shape)
PICTURES = [flat()] * 50


def session(*write: Callable[[Path], object], ends_s: float = 1.9, options: Sequence[str] = ()) -> Callable:
    """A session of alice and bob, who speaks last up to ``ends_s``; each of ``write`` brings files into its folder."""

    def written(source: Path) -> list[str]:
        folder = source / "s1"
        folder.mkdir()
        cues = (
            f"00:00.000 --> 00:00.900\n<v alice>It is ready.\n\n00:01.000 --> 00:{ends_s:06.3f}\n<v alice>I waited.\n"
        )
        (folder / "transcript.vtt").write_text(f"WEBVTT\n\n{cues}\n00:00.900 --> 00:01.000\n<v bob>No.\n")
        (source / "ratings.csv").write_text("session_id,rater,target,name,score,low,high\ns1,alice,bob,fun,4,1,5\n")
        for one in write:
            one(folder)
        return ["media", str(source), *(part for option in options for part in ("-o", option))]

    return written


def tracks(*samples: np.ndarray) -> Callable[[Path], object]:
    return lambda folder: write_tracks(folder / "alice.mkv", samples)


def films(*names: str) -> Callable[[Path], object]:
    return lambda folder: [write_movie(folder / name, PICTURES, sound=VOICE) for name in names]


def sound(name: str, samples: np.ndarray = VOICE) -> Callable[[Path], object]:
    return lambda folder: write_wav(folder / name, samples, codec="pcm_s16le")


def sizes(whole: int | None, samples: int | None) -> Callable[[Path], object]:
    """A WAV with other sizes in its header, as a program leaves them that writes to a pipe."""

    def write(folder: Path) -> None:
        data = bytearray(write_wav(folder / "alice.wav", VOICE, codec="pcm_s16le").read_bytes())
        for place, size in ((4, whole), (data.index(b"data") + 4, samples)):
            data[place : place + 4] = struct.pack("<I", size) if size is not None else data[place : place + 4]
        (folder / "alice.wav").write_bytes(data)

    return write


def _mp3(folder: Path) -> None:
    write_mp3_without_header(folder / "alice.mp3", np.concatenate([SILENCE, SILENCE, VOICE, VOICE]))


def _joined(folder: Path) -> None:
    """Two MP3s, one behind the other in one file: the header of the first tells of the first alone."""
    import av

    with av.open(str(folder / "one.mp3"), "w") as container:
        stream = container.add_stream("libmp3lame", rate=16000, layout="mono")
        frame = av.AudioFrame.from_ndarray(VOICE[None].astype(np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        cut = av.AudioResampler(format=stream.codec_context.format, layout="mono", rate=16000, frame_size=576)
        for part in (*cut.resample(frame), *cut.resample(None)):
            container.mux(stream.encode(part))
        container.mux(stream.encode())
    data = (folder / "one.mp3").read_bytes()
    (folder / "one.mp3").unlink()
    (folder / "alice.mp3").write_bytes(data + data)


def _adts(folder: Path) -> None:
    write_movie(folder / "a.mp4", [flat()], sound=np.concatenate([SILENCE, SILENCE, VOICE, VOICE]))
    import av

    with av.open(str(folder / "a.mp4")) as film, av.open(str(folder / "alice.aac"), "w") as out:
        stream = out.add_stream_from_template(film.streams.audio[0])
        for packet in film.demux(film.streams.audio[0]):
            if packet.dts is not None:
                packet.stream = stream
                out.mux(packet)
    (folder / "a.mp4").unlink()


def _live(folder: Path) -> None:
    write_movie(folder / "alice.mkv", PICTURES, sound=VOICE, options={"live": "1"})


def _twice(folder: Path) -> None:
    write_two_videos(folder / "alice.mkv", PICTURES, PICTURES)


def _playlist(folder: Path) -> None:
    (folder / "alice.mp4").write_text("#EXTM3U\n#EXTINF:2,\nhttp://127.0.0.1/alice.ts\n")


def lasts(seconds: float) -> Callable[[Corpus], bool]:
    return lambda corpus: math.isclose(corpus.session("s1").duration_s or 0.0, seconds, abs_tol=0.2)


def hears(channel: str | None) -> Callable[[Corpus], bool]:
    return lambda corpus: [m.channel for m in corpus.session("s1").media if m.kind == "audio"] == [channel]


def told(fault: str, says: str, *write: Callable[[Path], object], ends_s: float = 1.9) -> Row:
    return Row(KIND, fault, "told", session(*write, ends_s=ends_s), says=says)


def recovered(fault: str, holds: Callable[[Corpus], bool], *write: Callable[[Path], object], says: str = "") -> Row:
    return Row(KIND, fault, "recovered", session(*write), says=says, holds=holds)


def refused(fault: str, says: str, *write: Callable[[Path], object], options: Sequence[str] = ()) -> Row:
    return Row(KIND, fault, "refused", session(*write, options=options), says=says)


TAKEN = r"chosen: session s1: alice\.mkv: {} sound tracks in one file: {} \(.*\) is taken, the only one that sounds"
ROWS = [
    recovered(
        "the first of two tracks is silent", hears("track1"), tracks(SILENCE, VOICE), says=TAKEN.format(2, "track1")
    ),
    recovered("the second track is silent", hears(None), tracks(VOICE, SILENCE), says=TAKEN.format(2, "track0")),
    recovered(
        "the last of three tracks sounds, the first hisses",
        hears("track2"),
        tracks(HISS, SILENCE, VOICE),
        says=TAKEN.format(3, "track2"),
    ),
    refused("two tracks sound", r"2 of its sound tracks sound.*Say which: -o sound_track=0", tracks(VOICE, VOICE)),
    Row(
        KIND,
        "two tracks sound and one is named",
        "recovered",
        session(tracks(VOICE, VOICE), options=["sound_track=1"]),
        says=r"track1 \(.*\) is taken, which was asked for",
        holds=hears("track1"),
    ),
    refused(
        "a track is named that is not there",
        r"sound track 7 was asked for; allowed: track0 .*, track1",
        tracks(VOICE, VOICE),
        options=["sound_track=7"],
    ),
    refused(
        "a track is named in words", "sound_track=mic: the number", tracks(VOICE, VOICE), options=["sound_track=mic"]
    ),
    told("no track of two sounds", r"track0 .*though none of them sounds.*the sound is silent", tracks(SILENCE, HISS)),
    recovered("VBR MP3 whose header says no length", lasts(8.0), _mp3),
    recovered("two MP3s in one file", lasts(4.2), _joined),
    recovered("AAC without a container", lasts(8.0), _adts),
    recovered("Matroska of a live stream, without a length", lasts(2.0), _live, says="words 5 of 5 inside"),
    recovered("WAV with sizes of 0", lasts(2.0), sizes(0, 0)),
    recovered("WAV with sizes of 0xFFFFFFFF", lasts(2.0), sizes(0xFFFFFFFF, 0xFFFFFFFF)),
    recovered("WAV with sizes of 0x7FFFF000", lasts(2.0), sizes(0x7FFFF024, 0x7FFFF000)),
    recovered("WAV whose samples alone have no size", lasts(2.0), sizes(None, 0xFFFFFFFF)),
    told("the sound is silent", r"alice\.wav: the sound is silent.*Listen to it", sound("alice.wav", SILENCE)),
    told(
        "the sound is silent but for a moment",
        r"sound 2 %.*the sound is silent but for 0\.\d s",
        sound("alice.wav", np.concatenate([tone(0.1), *[SILENCE] * 3])),
    ),
    told(
        "the film has a picture and a silent sound",
        r"alice: face not looked for, sound 0 %.*alice\.mp4: the sound is silent.*faces: apportion probe FILM",
        lambda folder: write_movie(folder / "alice.mp4", PICTURES, sound=SILENCE),
    ),
    told("the transcript goes on after the film", r"is after the end of the session", films("alice.mp4"), ends_s=59.0),
    told(
        "one film of two ends before its person's words",
        r"words 3 of 5 inside.*2 of 5 words lie outside media/s1/alice\.wav, which runs from 0\.0 to 2\.0 s",
        sound("alice.wav"),
        sound("bob.wav", np.concatenate([VOICE] * 5)),
        ends_s=9.9,
    ),
    told(
        "two films of one person",
        r"chosen: session s1: alice has two films: alice\.mkv is used and alice\.mp4 is not",
        films("alice.mkv", "alice.mp4"),
    ),
    told(
        "two sound files of one person",
        r"alice has two sound files: alice\.mp3 is used and alice\.wav is not",
        sound("alice.wav"),
        _mp3,
    ),
    told("two films in one file", r"alice\.mkv holds 2 films: the one in which a face", _twice),
    refused("a playlist that calls itself a film", r"alice\.mp4: cannot be opened as a recording", _playlist),
]
