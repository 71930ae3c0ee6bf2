"""Opening one recording safely, and saying clearly why it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av

from apportion.corpus.files.header_clock import header_clock
from apportion.corpus.recordings.addresses import shown
from apportion.corpus.recordings.container import (
    HEADED,
    format_of,
    open_container,
    promised_bytes,
    reason,
    streams_of,
)
from apportion.corpus.recordings.fetched import held
from apportion.corpus.recordings.mirrored import address_in
from apportion.foundation.errors import UnitError
from apportion.foundation.files import is_address


def locate(root: Path, path: str) -> Path:
    """The place of a recording: a file inside ``root``.

    Raises ``UnitError`` for an address, a path that leaves ``root`` (absolute, ``..`` or a link), and a missing file.
    """
    path = address_in(root, path)
    if is_address(path):
        raise UnitError(
            f"{shown(path)}: an address; here recordings are read from the corpus folder {root} alone. "
            "Download the file into the folder and give its relative path in the media table."
        )
    base = root.resolve()
    try:
        full = (base / path).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UnitError(f"{path!r}: not a usable path ({error}). Correct it in the media table.") from error
    if Path(path).is_absolute() or not full.is_relative_to(base):
        raise UnitError(
            f"{path}: leads outside the corpus folder {root}. "
            "Copy the file into the folder and give its relative path in the media table."
        )
    if not full.is_file():
        raise UnitError(f"{path}: no such file in the corpus folder {root}. Put it there or correct the media table.")
    return full


@contextmanager
def located(root: Path, path: str) -> Iterator[Path]:
    """The file of a recording while the context is open: inside ``root`` (see `locate`), or the copy of an address.

    Raises ``UnitError``: as `locate`; see `apportion.corpus.recordings.fetched.held` for addresses.
    """
    path = address_in(root, path)
    if is_address(path):
        with held(path) as place:
            yield place
    else:
        yield locate(root, path)


class Recording:
    """An open container and the clock of its packets.

    ``origin_s`` is what the container's own clock shows at presentation time 0: 0 for files, the first time stamp
    for transport streams, whose clock starts anywhere.
    """

    def __init__(self, container: Any, place: Path, path: str, tolerance_s: float) -> None:
        self.container = container
        self.place = place
        self.path = path
        self._tolerance_s = tolerance_s
        clock = header_clock(container)
        self.origin_s = clock.origin_s
        self._promised_s = clock.length_s if format_of(container) in HEADED else 0.0
        self._first_s = clock.start_s
        self._reached_s = clock.start_s
        self._damaged_s = 0.0

    def streams(self, kind: str) -> list[Any]:
        """Every ``video`` or ``audio`` stream that can be decoded. Cover pictures are no video."""
        return streams_of(self.container, kind)

    def stream(self, kind: str) -> Any:
        """The first of ``streams``, None where there is none."""
        return next(iter(self.streams(kind)), None)

    def sound(self, track: int | None) -> Any:
        """The sound track of that number, the first for None; None where it is not there."""
        return next(iter(self.streams("audio")[track or 0 :]), None)

    def holds(self) -> str:
        """What the file holds, for messages: ``audio (pcm_s16le)``."""
        streams = [f"{s.type} ({s.codec_context.name})" for s in self.container.streams if s.codec_context is not None]
        return " and ".join(streams) if streams else "nothing that can be decoded"

    def frames(self, stream: Any, spared: Callable[[Any], bool] | None = None) -> Iterator[Any]:
        """Every decoded frame of ``stream`` in order.

        A packet that is ``spared`` is decoded only where other pictures are drawn from its own (H.264's reference
        pictures); damage in it that nobody would see is not counted. Raises ``UnitError`` when more than the tolerated
        seconds of the file are missing or do not decode.
        """
        lost: Exception | None = None
        packets = self.container.demux()
        while True:
            try:
                packet = next(packets, None)
            except (av.FFmpegError, OSError) as error:
                lost = error
                break
            except IndexError:  # PyAV's, of a stream that was not there when the file was opened.
                raise UnitError(
                    f"{self.path}: another stream begins after {self._reached_s - self._first_s:.1f} s, or the file is "
                    "damaged there. Convert the recording, for example to mp4, so that all its streams last throughout."
                ) from None
            if packet is None:
                break
            self._note(packet)
            if packet.stream.index != stream.index:
                continue
            if spared is not None:
                stream.codec_context.skip_frame = "NONREF" if spared(packet) else "DEFAULT"
            try:
                yield from packet.decode()
            except av.FFmpegError as error:
                lost = error
                self._damaged_s += float((packet.duration or 0) * packet.time_base)
        self._check(lost)

    def _note(self, packet: Any) -> None:
        if packet.pts is not None:
            tick = packet.time_base
            # As a division of whole numbers: fractions are slow, and every packet comes by.
            end = (packet.pts + (packet.duration or 0)) * tick.numerator / tick.denominator
            self._reached_s = max(self._reached_s, end)

    def _check(self, cause: Exception | None) -> None:
        read_s = self._reached_s - self._first_s
        missing_s = self._promised_s - read_s + self._damaged_s
        if missing_s > self._tolerance_s:
            raise UnitError(
                f"{self.path}: damaged or cut short: it promises {self._promised_s:.1f} s and "
                f"{self._promised_s - missing_s:.1f} s could be decoded"
                f"{f' ({reason(cause)})' if cause else ''}. Copy the recording again, or raise "
                f"features.missing_tolerance_s (now {self._tolerance_s:g}) to use what is there."
            )


@contextmanager
def open_recording(root: Path, path: str, tolerance_s: float) -> Iterator[Recording]:
    """Open the recording ``path`` of the corpus folder ``root``, or at an address.

    ``tolerance_s``: seconds that may be missing before ``Recording.frames`` calls the file damaged.
    Raises ``UnitError`` with file and cause when it cannot be found, is empty, or is no known container.
    """
    with located(root, path) as place:
        try:
            with place.open("rb") as file:
                head = file.read(36)
        except OSError as error:
            raise UnitError(
                f"{path}: cannot be read ({error.strerror or error}). Check its owner and mode, or copy it again."
            ) from None
        _check_size(place, path, head, tolerance_s)
        with open_container(place, path) as container:
            yield Recording(container, place, path, tolerance_s)


def _check_size(place: Path, path: str, head: bytes, tolerance_s: float) -> None:
    """Refuse an empty file, and a WAV that is shorter than its own header says (FFmpeg silently shortens it)."""
    size = place.stat().st_size
    if size == 0:
        raise UnitError(f"{path}: the file is empty (0 bytes). Copy the recording again.")
    promised = promised_bytes(head)
    if promised is None or head[12:16] != b"fmt ":
        return
    bytes_a_second = max(1, int.from_bytes(head[28:32], "little"))
    if (promised - size) / bytes_a_second > tolerance_s:
        raise UnitError(
            f"{path}: cut short: its header promises {promised / bytes_a_second:.1f} s and "
            f"{size / bytes_a_second:.1f} s are there. Copy the recording again, or raise "
            f"features.missing_tolerance_s (now {tolerance_s:g}) to use what is there."
        )
