from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apportion.features.media_io.media import Recording, locate, open_recording
from apportion.foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_wav
from tests.shared import shared


def test_path_inside_the_corpus_is_found(tmp_path: Path):
    (tmp_path / "s1").mkdir()
    (tmp_path / "s1" / "a.wav").write_bytes(b"x")
    assert locate(tmp_path, "s1/a.wav") == (tmp_path / "s1" / "a.wav").resolve()
    assert locate(tmp_path, "s1/../s1/a.wav") == (tmp_path / "s1" / "a.wav").resolve()


@pytest.mark.parametrize("path", ["../secret.wav", "s1/../../secret.wav", "link.wav", "linked/secret.wav"])
def test_path_may_not_leave_the_corpus(tmp_path: Path, path: str):
    root = tmp_path / "corpus"
    (root / "s1").mkdir(parents=True)
    (tmp_path / "secret.wav").write_bytes(b"x")
    (root / "link.wav").symlink_to(tmp_path / "secret.wav")
    (root / "linked").symlink_to(tmp_path)
    with pytest.raises(UnitError, match="leads outside the corpus folder"):
        locate(root, path)
    with pytest.raises(UnitError, match="leads outside the corpus folder"):
        locate(tmp_path, str(tmp_path / "secret.wav"))


def test_what_is_no_path_of_a_file_says_so(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    for path in ("none.wav", "folder", "."):
        with pytest.raises(UnitError, match="no such file in the corpus folder"):
            locate(tmp_path, path)
    with pytest.raises(UnitError, match="not a usable path"):
        locate(tmp_path, "a\0b.wav")


@pytest.mark.parametrize("address", ["https://example.org/a.mp4", "s3://b/a.mp4", "memory://a", "file:///etc/passwd"])
def test_addresses_are_refused(tmp_path: Path, address: str):
    with pytest.raises(UnitError, match=r"an address; .*Download the file into the folder and give its relative path"):
        locate(tmp_path, address)


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_a_stream_of_a_codec_that_nobody_knows_is_none(tmp_path: Path, kind: str):
    if kind == "video":
        path = write_movie(tmp_path / "a.avi", [flat()] * 3, fps=10)
        assert path.read_bytes().count(b"FMP4") == 2
        path.write_bytes(path.read_bytes().replace(b"FMP4", b"zzzz"))
    else:
        path = write_wav(tmp_path / "a.wav", tone(0.2))
        path.write_bytes(path.read_bytes()[:20] + b"\x34\x12" + path.read_bytes()[22:])
    with open_recording(tmp_path, path.name, 1.0) as recording:
        assert recording.stream(kind) is None
        assert recording.holds() == "nothing that can be decoded"


def _empty(folder: Path) -> bytes:
    return b""


def _without_index(folder: Path) -> bytes:
    whole = write_movie(folder / "whole.mp4", [flat()] * 50).read_bytes()
    return whole[: whole.index(b"moov") - 4]


def _playlist(folder: Path) -> bytes:
    write_movie(folder / "a.ts", [flat()] * 50, codec="mpeg2video")
    return b"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\na.ts\n#EXT-X-ENDLIST\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_empty, "the file is empty"),
        (_without_index, r"cannot be opened as a recording \(Invalid data"),
        (_playlist, "cannot be opened as a recording"),  # It could reach other files.
    ],
)
def test_what_is_no_recording_is_told(tmp_path: Path, content, words: str):
    (tmp_path / "a.mp4").write_bytes(content(tmp_path))
    with pytest.raises(UnitError, match=rf"a\.mp4: {words}"), open_recording(tmp_path, "a.mp4", 1.0):
        pass


def _decode_all(root: Path, name: str, tolerance_s: float = 1.0) -> int:
    with open_recording(root, name, tolerance_s) as recording:
        return sum(1 for _ in recording.frames(recording.stream("video")))


def test_movie_cut_in_the_middle_says_how_much_is_there(tmp_path: Path):
    noise = np.random.default_rng(0).integers(0, 255, (100, 48, 64), dtype=np.uint8)
    whole = write_movie(tmp_path / "whole.mp4", list(noise), options={"movflags": "faststart"}).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    assert _decode_all(tmp_path, "whole.mp4") == 100
    with pytest.raises(UnitError, match=r"cut\.mp4: damaged or cut short: it promises 4\.0 s and [12]\.\d s could"):
        _decode_all(tmp_path, "cut.mp4")
    assert 20 < _decode_all(tmp_path, "cut.mp4", tolerance_s=4.0) < 80


def test_wav_cut_in_the_middle(tmp_path: Path):
    whole = write_wav(tmp_path / "whole.wav", tone(4.0)).read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole[: len(whole) // 2])
    with (
        pytest.raises(UnitError, match=r"cut\.wav: cut short: its header promises 4\.0 s and 2\.0 s are there"),
        open_recording(tmp_path, "cut.wav", 1.0),
    ):
        pass
    with open_recording(tmp_path, "cut.wav", 3.0) as recording:
        assert recording.stream("audio") is not None


def test_wav_from_a_pipe_promises_nothing(tmp_path: Path):
    data = bytearray(write_wav(tmp_path / "a.wav", tone(1.0)).read_bytes())
    data[4:8] = b"\xff\xff\xff\xff"
    (tmp_path / "pipe.wav").write_bytes(data)
    with open_recording(tmp_path, "pipe.wav", 1.0) as recording:
        assert recording.stream("audio") is not None


def test_header_that_lies_by_a_few_frames_is_tolerated():
    path = shared("media/no_face.mp4")  # its header says 98 frames, 95 decode
    assert _decode_all(path.parent, path.name) == 95


@pytest.mark.parametrize("name", ["a.mkv", "a.webm", "a.mp4", "a.mov"])
def test_a_recording_whose_clock_begins_late_is_whole(tmp_path: Path, name: str):
    codec = "libvpx" if name.endswith("webm") else "mpeg4"
    path = write_movie(tmp_path / name, [flat()] * 50, times_s=[3 + i / 25 for i in range(50)], codec=codec)
    with open_recording(tmp_path, path.name, 1.0) as recording:
        times = [frame.time for frame in recording.frames(recording.stream("video"))]
    assert len(times) == 50
    assert times[0] == pytest.approx(3.0, abs=0.05)


def test_a_stream_that_begins_on_the_way(tmp_path: Path):
    class Container:
        format = SimpleNamespace(name="mpegts")
        start_time = duration = 0
        streams = ()

        def demux(self):
            raise IndexError
            yield

    with pytest.raises(UnitError, match=r"a\.ts: another stream begins after 0\.0 s"):
        list(Recording(Container(), tmp_path, "a.ts", 1.0).frames(None))
