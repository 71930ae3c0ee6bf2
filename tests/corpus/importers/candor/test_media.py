import re

import pytest

from apportion.corpus.account import opened
from apportion.corpus.importers.candor.importer import import_corpus
from apportion.features.precomputed import read_precomputed
from apportion.foundation.errors import InputError
from tests.corpus.importers.candor_import import PLAIN, left_out, noted
from tests.corpus.importers.candor_tree import (
    write_json,
    write_tree,
)
from tests.features.clips import flat, write_wav


@pytest.fixture
def recorded(tmp_path, talks):
    """One conversation with recordings: (src, its folder)."""
    src = write_tree(tmp_path / "src", talks[:1])
    return src, src / talks[0].id


def kinds(src, options):
    table = import_corpus(src, options).tables["media"]
    return sorted(zip(table.column("kind").to_pylist(), table.column("channel").to_pylist(), strict=True), key=str)


@pytest.mark.parametrize(
    ("media", "features", "expected", "files"),
    [
        ("all", "none", [("audio", "L"), ("audio", "R"), ("video", None), ("video", None)], (4, 3)),
        ("audio", "none", [("audio", "L"), ("audio", "R")], (4, 1)),
        ("none", "none", [], ()),
        ("none", "precomputed", [("features", None)] * 2, ()),
    ],
)
def test_which_media_are_wanted(recorded, media, features, expected, files):
    src, _ = recorded
    with opened() as account:
        made = import_corpus(src, {"media": media, "features": features})
    counted = [
        number for line in account.settled(made) if line.what == "recordings" for number in (line.read, line.kept)
    ]
    assert tuple(counted) == files
    assert kinds(src, {"media": media, "features": features}) == expected
    asked = "audio_video_features.csv is there and was not asked for (-o features=precomputed): 1 session"
    assert (asked in noted(src, {"media": media, "features": features})) == (features == "none")


def test_columns_that_somebody_knows_are_mapped(recorded, talks):
    src, folder = recorded
    options = {"media": "none", "features": "precomputed", "map": "intensity:intensity_db"}
    assert kinds(src, options) == [("features", "candor,intensity:intensity_db")] * 2
    found = read_precomputed(
        folder / "audio_video_features.csv", talks[0].people[0], 0.0, "candor,intensity:intensity_db"
    )
    assert {"intensity_db", "is_speaking_precomputed", "anger"} <= set(found)
    assert "intensity_precomputed" not in found
    missing = {**options, "map": "f0:f0_hz"}
    assert kinds(src, missing) == [] and "it has no column 'f0'" in noted(src, missing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"map": "f0:f0_hz"}, "option map=f0:f0_hz: of which features"),
        ({"map": "f0:pitch", "features": "precomputed"}, "import candor: option map=candor,f0:pitch: 'pitch' is no"),
    ],
)
def test_a_map_of_nothing_is_refused(recorded, options, words):
    with pytest.raises(InputError, match=words):
        import_corpus(recorded[0], options)


def test_channels_come_from_the_metadata_where_there_is_no_channel_map(recorded, talks):
    src, folder = recorded
    (folder / "processed/channel_map.json").unlink()
    media = import_corpus(src, {}).tables["media"].to_pylist()
    assert {row["channel"]: row["speaker"] for row in media if row["kind"] == "audio"} == dict(
        zip("LR", talks[0].people, strict=True)
    )
    (folder / "metadata.json").unlink()
    assert "sound without speakers was left out: 1 session" in noted(src, {})
    assert "neither channel_map.json nor metadata.json says who is on which channel" in noted(src, {})


def test_half_of_the_side_by_side_picture_is_nobodys(recorded, talks):
    src, folder = recorded
    (folder / f"processed/{talks[0].people[1]}.mp4").unlink()
    assert [kind for kind, _ in kinds(src, {})] == ["audio", "audio", "video"]
    assert "nobody says whose half is whose: 1 session" in noted(src, {})
    (folder / f"processed/{talks[0].id}.mp4").unlink()
    assert "a speaker has no video: 1 session" in noted(src, {})


def _swapped(folder, one):
    write_json(folder / "channel_map.json", dict(zip("RL", one.people, strict=True)))


def _strangers(folder, one):
    write_json(folder / "channel_map.json", {"L": "carol", "R": one.people[1]})


def _mono(folder, one):
    write_wav(folder / f"{one.id}.mp3", flat()[0] / 255.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_swapped, r"channel_map.json has \w+ on R, metadata.json \w+"),
        (_strangers, "'carol' is not of this conversation"),
        (lambda folder, one: (folder / "channel_map.json").write_text("{"), "not valid JSON"),
        (_mono, r"mp3 has 1 channel\(s\), not 2"),
        (lambda folder, one: (folder / f"{one.id}.mp3").write_bytes(b""), "cannot be read was left out.*zero bytes"),
        (lambda folder, one: (folder / f"{one.id}.mp3").unlink(), "no stereo mp3"),
    ],
)
def test_sound_that_is_nobodys_is_left_out_alone(recorded, talks, change, words):
    src, folder = recorded
    change(folder / "processed", talks[0])
    found = import_corpus(src, {})
    assert found.left_out == () and [kind for kind, _ in kinds(src, {})] == ["video", "video"]
    assert re.search(words, "\n".join(found.notes))


def test_broken_videos_are_left_out_alone(recorded, talks):
    src, folder = recorded
    left, right = talks[0].people
    (folder / f"processed/{left}.mp4").write_bytes(b"not a video" * 99)
    write_wav(folder / f"processed/{right}.mp4", flat()[0] / 255.0)
    assert kinds(src, {}) == [("audio", "L"), ("audio", "R")]
    assert "cannot be opened as a recording" in noted(src, {})


def test_no_recordings_at_all(candor):
    assert "no recording that can be used: 2 sessions" in noted(candor, {})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        ("timedelta,user_id\n", "it has no rows"),
        ("time,user_id\n1,2\n", "it has no column 'timedelta'"),
        (None, "no audio_video_features.csv, or one that cannot be used: 1 session"),
    ],
)
def test_features_that_cannot_be_used_are_left_out_alone(candor, talks, content, words):
    path = candor / talks[0].id / "audio_video_features.csv"
    path.unlink() if content is None else path.write_text(content)
    found = import_corpus(candor, PLAIN | {"features": "precomputed"})
    assert found.left_out == () and found.tables["media"].num_rows == 2
    assert words in "\n".join(found.notes)


def test_a_link_to_a_video_that_leads_out(recorded, talks, tmp_path):
    src, folder = recorded
    video = folder / f"processed/{talks[0].people[0]}.mp4"
    video.rename(tmp_path / "elsewhere.mp4")
    video.symlink_to(tmp_path / "elsewhere.mp4")
    assert "a link that leads out" in left_out(src, {})[0]


def test_a_person_without_rows_in_the_features_has_none(candor, talks):
    path = candor / talks[0].id / "audio_video_features.csv"
    header, *rows = path.read_text().splitlines()
    first, second = sorted(talks[0].people)
    path.write_text("\n".join([header, *(row for row in rows if second not in row)]) + "\n")
    found = import_corpus(candor, PLAIN | {"features": "precomputed"})
    media = found.tables["media"].to_pylist()
    mine = [row["speaker"] for row in media if row["kind"] == "features" and row["session_id"] == talks[0].id]
    assert mine == [first]
    assert "a speaker has no rows in audio_video_features.csv" in "\n".join(found.notes)
