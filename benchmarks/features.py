"""Claims on behaviour from video, one core: times real time beside pure decoding and beside the naive chain.

Run: python -m benchmarks.features ../shared [--seconds 40] [--turns 4] [--detector mesh] [--cores] [--long]

At 640x480, 30 pictures a second: with mesh at least 0.38 of pure decoding's speed, 0.25 with the pair of small emotion
networks twice a second; with YuNet 20 x real time, 12 x with a large network; 18 x and 10 x with the bundled cascade.
The peers, measured in the same run on the same file: pure decoding, and the naive chain of the field, in which every
picture is searched for face, eyes and smile with OpenCV's defaults and goes through the emotion network. The films are
transcoded from a real talking head (../shared/media); the large network has RANDOM WEIGHTS: it tells the time alone.

--cores: two workers against one, by processes and by Dask, median of 3.  --long: 31 minutes, memory and time a minute.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import av
import cv2
import numpy as np

import apportion.features.media_io.video
from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.demo.builders.planting import Planted
from apportion.demo.builders.tables import to_corpus
from apportion.features.emotion_model.expression_pair import PAIR
from apportion.features.extract import extract_session
from apportion.features.settings import FeatureSettings
from apportion.foundation.model_hub.mesh import find_mesh
from apportion.pipeline.execution.cluster import OURS
from apportion.pipeline.execution.status import run_status
from benchmarks.measure import tell, timed

DETECTORS = ("yunet", "haar", "mesh", "mesh without iris")
SIZES = ((320, 240), (640, 360), (640, 480), (1280, 720))
FPS = 30
CANDOR, CANDOR_PERSON_HOURS = 1656, 1711
MINUTES = 2
"""Of a film whose features several workers make."""
NAIVE_PICTURES = 60
Seconds = float


def transcode(source: Path, target: Path, size: tuple[int, int], seconds: float) -> Path:
    """``source`` forth and back for ``seconds`` as H.264 with x264's defaults, in the middle of a ``size`` picture."""
    with av.open(str(source)) as container:
        pictures = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    fitted = [_fit(picture, size) for picture in pictures]
    there_and_back = fitted + fitted[::-1]
    with av.open(str(target), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(round(seconds * FPS)):
            frame = av.VideoFrame.from_ndarray(there_and_back[number % len(there_and_back)], format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return target


def _fit(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    scale = min(size[0] / picture.shape[1], size[1] / picture.shape[0])
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    left, top = (size[0] - small.shape[1]) // 2, (size[1] - small.shape[0]) // 2
    right, bottom = size[0] - small.shape[1] - left, size[1] - small.shape[0] - top
    return cv2.copyMakeBorder(small, top, bottom, left, right, cv2.BORDER_REPLICATE)


def cpu(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, Seconds]:
    """The least CPU time of each of ``works``; they take ``turns``, as machines change speed, one uncounted."""
    least = dict.fromkeys(works, math.inf)
    for turn in range(turns + 1):
        for name, work in works.items():
            begun = time.process_time()
            work()
            if turn:
                least[name] = min(least[name], time.process_time() - begun)
    return least


def decode(path: Path) -> None:
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.thread_count = 1
        for _ in container.decode(video=0):
            pass


def extract(path: Path, settings: FeatureSettings, kind: str = "video") -> None:
    session = Session("s", (Turn(0, "a", "x", 0.0, 10.0),), (), (Media("a", kind, path.name),))
    extract_session(session, path.parent, settings)


def naive_seconds(path: Path, model: Path) -> Seconds:
    """CPU seconds a picture of the chain that people write: everything on every picture, with OpenCV's defaults."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    network = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    name = network.get_inputs()[0].name
    cascades = {
        part: cv2.CascadeClassifier(f"{cv2.data.haarcascades}haarcascade_{part}.xml")
        for part in ("frontalface_default", "eye", "smile")
    }
    cv2.setNumThreads(1)
    video = cv2.VideoCapture(str(path))
    begun = time.process_time()
    for _ in range(NAIVE_PICTURES):
        _, picture = video.read()
        grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        for x, y, width, height in cascades["frontalface_default"].detectMultiScale(grey, 1.1, 5)[:1]:
            face = grey[y : y + height, x : x + width]
            cascades["eye"].detectMultiScale(face)
            cascades["smile"].detectMultiScale(face, 1.7, 20)
            colours = cv2.resize(picture[y : y + height, x : x + width], (224, 224)).astype(np.float32) / 255.0
            network.run(None, {name: colours.transpose(2, 0, 1)[None]})
    return (time.process_time() - begun) / NAIVE_PICTURES


def measure_speed(shared: Path, folder: Path, given: argparse.Namespace, detectors: Sequence[str]) -> None:
    emotion = shared / "models" / "RANDOMWEIGHTS_enet_b0_8.onnx"
    for size in SIZES:
        name = f"{size[0]}x{size[1]}"
        if given.size not in (None, name):
            continue
        film = transcode(shared / "media" / "WDA_KatieHill_000.mp4", folder / f"{name}.mp4", size, given.seconds)
        works: dict[str, Callable[[], object]] = {"decode": partial(decode, film)}
        moods = {"without emotion": "none", "with a large emotion network": str(emotion)}
        moods |= {"with the pair": str(mesh / PAIR[0])} if (mesh := find_mesh()) else {}
        for detector, mood in itertools.product(detectors, moods):
            works[f"{detector} {mood}"] = partial(extract, film, settings_of(detector, moods[mood], shared))
        spent = {told: seconds / given.seconds for told, seconds in cpu(works, given.turns).items()}
        limit = spent.pop("decode")
        tell(f"pure decode {name}", 1 / limit, "x real time", ms_a_second=round(1000 * limit, 1))
        naive = naive_seconds(film, emotion) * FPS
        tell(f"naive chain {name}", 1 / naive, "x real time", ms_a_second=round(1000 * naive, 1))
        for told, one in spent.items():
            tell(
                f"features {name} {told}",
                1 / one,
                "x real time",
                ms_a_second=round(1000 * one, 1),
                ratio_to_decode=round(limit / one, 3),
                ratio_to_naive=round(naive / one, 1),
                candor_core_hours=round(CANDOR_PERSON_HOURS * one),
            )
    sound = shared / "media" / "pyannote_sample.wav"
    spent = cpu({"prosody": partial(extract, sound, FeatureSettings(), "audio")}, 5)
    tell("prosody", 30.0 / spent["prosody"], "x real time", file=sound.name)


def settings_of(detector: str, emotion: str, shared: Path) -> FeatureSettings:
    kind, _, without = detector.partition(" ")
    chosen = {
        "detector": kind,
        "yunet_model": shared / "models" / "face_detection_yunet_2026may.onnx",
        "emotion_model": emotion,
    }
    return FeatureSettings.model_validate(chosen | ({"iris_rate_hz": 0.0} if without else {}))


def measure_cores(shared: Path, folder: Path) -> None:
    """Wall time of `apportion run --only features` on 12 films with two workers against one, by processes and Dask."""
    films = folder / "films"
    (films / "media").mkdir(parents=True)
    transcode(shared / "media" / "WDA_KatieHill_000.mp4", films / "media" / "a.mp4", (640, 480), 60 * MINUTES)
    sessions = []
    for number in range(12):
        (films / "media" / f"{number}.mp4").hardlink_to(films / "media" / "a.mp4")
        turns = tuple(Turn(i, "ab"[i % 2], "words", 3.0 * i, 3.0 * i + 2.5) for i in range(20))
        rating = Rating("a", "b", "liking", 1.0 + number % 5, 1.0, 5.0, True)
        media = (Media("a", "video", f"media/{number}.mp4"),)
        sessions.append(Session(f"s{number:02}", turns, (rating,), media))
    to_corpus([Planted(session, "film", {}) for session in sessions], films).write(films)
    spent: dict[tuple[str, int], list[float]] = {(kind, n): [] for kind in ("local", "dask") for n in (1, 2)}
    for turn in range(3):
        for (kind, workers), seconds in spent.items():
            config = folder / f"{kind}_{workers}_{turn}.toml"
            config.write_text(f'corpus = "{films}"\noutput = "{config.stem}"\n[run]\nworkers = {workers}\n')
            with dask_workers(workers) if kind == "dask" else nullcontext("local") as executor:
                seconds.append(timed(["run", "--only", "features", "--executor", executor, str(config)])[0])
    for kind in ("local", "dask"):
        one, two = (statistics.median(spent[kind, workers]) for workers in (1, 2))
        tell(f"two workers against one, {kind}", one / two, "ratio", one_s=round(one, 2), two_s=round(two, 2), runs=3)
    begun = run_status(folder / "dask_1_0", folder / "none").stages
    minute_s = sum(stage.seconds for stage in begun if stage.stage == "features") / (len(sessions) * MINUTES)
    session_s = minute_s * CANDOR_PERSON_HOURS * 60 / CANDOR
    for workers in (1, 10, 100):
        # Equal sessions: the last round of workers is the one that is not full.
        hours = math.ceil(CANDOR / workers) * session_s / 3600
        told = {"session_s": round(session_s), "idle": round(1 - CANDOR * session_s / 3600 / workers / hours, 3)}
        tell(f"CANDOR's features by {workers} workers, reckoned", hours, "h", **told)


@contextmanager
def dask_workers(number: int) -> Iterator[str]:
    """A scheduler with ``number`` workers, set as the guide says; gives its address as `--executor` takes it."""
    import dask
    from distributed import LocalCluster

    kind = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None, "protocol": "tcp"}
    with dask.config.set(OURS), LocalCluster(n_workers=number, **kind) as made:
        yield made.scheduler_address.replace("tcp://", "dask://")


def measure_long(shared: Path, folder: Path) -> None:
    """31 minutes of picture and sound: peak memory of a process that does nothing else, and time for each minute."""
    film = transcode(shared / "media" / "WDA_KatieHill_000.mp4", folder / "minute.mp4", (640, 480), 60)
    _loop(film, folder / "long.mp4", 31)
    sample = str(shared / "media" / "pyannote_sample.wav")
    with wave.open(sample) as source, wave.open(str(folder / "long.wav"), "wb") as target:
        target.setparams(source.getparams())
        target.writeframes(source.readframes(source.getnframes()) * 62)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        peak_mib, minutes = pool.submit(long_session, folder, shared).result()
    tell("31 minutes of video and sound, peak memory", peak_mib, "MiB")
    tell(
        "31 minutes, the last five of video against the first five",
        float(np.mean(minutes[-5:]) / np.mean(minutes[:5])),
        "ratio",
        s_a_minute=round(float(np.mean(minutes)), 2),
    )


def _loop(film: Path, looped: Path, laps: int) -> None:
    with av.open(str(looped), "w") as target:
        stream = None
        for lap in range(laps):
            with av.open(str(film)) as source:
                stream = stream or target.add_stream_from_template(source.streams.video[0])
                for packet in source.demux(video=0):
                    if packet.dts is None:
                        continue
                    shift = round(lap * 60 / packet.time_base)
                    packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, stream
                    target.mux(packet)


def long_session(folder: Path, shared: Path) -> tuple[float, list[Seconds]]:
    """Peak MiB of this process and CPU seconds of each minute of video."""
    clock: list[tuple[float, float]] = []
    read = apportion.features.media_io.video.read_pictures

    def watched(*arguments: Any) -> Iterator[Any]:
        for picture in read(*arguments):
            if not clock or picture.time_s - clock[-1][0] >= 60:
                clock.append((picture.time_s, time.process_time()))
            yield picture

    apportion.features.media_io.video.read_pictures = watched
    settings = FeatureSettings(emotion_model=str(shared / "models" / "RANDOMWEIGHTS_enet_b0_8.onnx"))
    media = (Media("a", "video", "long.mp4"), Media("a", "audio", "long.wav"))
    extract_session(Session("s", (Turn(0, "a", "x", 0.0, 10.0),), (), media), folder, settings)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return peak_mib, np.diff([spent for _, spent in clock]).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--seconds", type=float, default=40.0, help="length of each film")
    parser.add_argument("--size", choices=[f"{width}x{height}" for width, height in SIZES], help="only this size")
    parser.add_argument("--detector", choices=DETECTORS, action="append", help="only this one; may be given again")
    parser.add_argument("--turns", type=int, default=4, help="how often each is measured, by turns; the least is told")
    for option in ("cores", "long"):
        parser.add_argument(f"--{option}", action="store_true")
    given = parser.parse_args()
    detectors = [one for one in given.detector or DETECTORS if find_mesh() or not one.startswith("mesh")]
    with tempfile.TemporaryDirectory() as temporary:
        if given.cores:
            measure_cores(given.shared.resolve(), Path(temporary))
        elif given.long:
            measure_long(given.shared.resolve(), Path(temporary))
        else:
            measure_speed(given.shared.resolve(), Path(temporary), given, detectors)
