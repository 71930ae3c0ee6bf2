"""Exports of a run folder: what is read, written, refused and told."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from apportion.cli import main
from apportion.foundation.errors import InputError
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.results.annotation_files import ExportReport, export_run
from apportion.pipeline.results.run_folder import open_run, session_file_name
from tests.pipeline.results.measured_run import HOSTILE, TEXT_ONLY, write_measured_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_measured_run(tmp_path)


def export(folder: Path, kind: str = "eaf", *sessions: str, force: bool = False, source: str = "config.toml"):
    run = open_run(folder / source, None if source.endswith("toml") else folder / "corpus")
    return export_run(run, kind, folder / "out", sessions, force, StageProgress(quiet=True))


def test_one_file_a_session_from_a_config_and_from_a_run_folder(folder):
    report = export(folder)
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == sorted([f"{session_file_name(HOSTILE)}.eaf", "s.eaf"])
    assert {path.name for path in report.written} == set(names)
    assert report.untimed_sessions == [TEXT_ONLY]
    assert report.unmeasured_sessions == [HOSTILE]
    assert report.untimed_turns == 1
    again = export(folder, source="run")
    assert (again.written, len(again.unchanged)) == ([], 2)
    assert sorted(path.name for path in (folder / "out").iterdir()) == names
    assert not (folder.parent / "etc").exists()


def test_all_tiers_of_the_measured_session(folder):
    export(folder)
    root = ET.parse(folder / "out" / "s.eaf").getroot()
    names = [tier.get("TIER_ID") for tier in root.iter("TIER")]
    assert {"utterance@ann", "f0_hz@ann", "happiness@ann", "nod_yes@bob", "descriptor reply@bob"} <= set(names)


def test_recordings_are_linked_once_with_their_offset_and_never_from_outside(folder):
    report = export(folder, "eaf", "s")
    root = ET.parse(folder / "out" / "s.eaf").getroot()
    assert [dict(d.attrib) for d in root.iter("MEDIA_DESCRIPTOR")] == [
        {
            "MEDIA_URL": "./../corpus/media/ann.wav",
            "MIME_TYPE": "audio/x-wav",
            "RELATIVE_MEDIA_URL": "./../corpus/media/ann.wav",
            "TIME_ORIGIN": "250",
        },
        {
            "MEDIA_URL": "./../corpus/media/bob.wav",
            "MIME_TYPE": "audio/x-wav",
            "RELATIVE_MEDIA_URL": "./../corpus/media/bob.wav",
        },
    ]
    assert (folder / "out" / "./../corpus/media/ann.wav").is_file()
    assert any("begins 0.5 s into the session" in note for note in report.notes)
    assert any("../outside.mp4" in note for note in report.notes)
    assert "outside" not in (folder / "out" / "s.eaf").read_text()


def test_a_textgrid_reaches_to_the_sessions_end(folder):
    report = export(folder, "textgrid", "s")
    assert [path.name for path in report.written] == ["s.TextGrid"]
    assert "xmax = 30 " in (folder / "out" / "s.TextGrid").read_text()
    assert report.notes == []


def test_a_changed_file_is_replaced_only_by_force(folder):
    export(folder)
    (folder / "out" / "s.eaf").write_text("my own annotations")
    others = [path for path in (folder / "out").glob("*.eaf") if path.name != "s.eaf"]
    for path in others:
        path.unlink()
    kept = export(folder)
    assert [path.name for path in kept.refused] == ["s.eaf"]
    assert "kept: 1 file that differs from what would be written (s.eaf). Use --force" in str(kept)
    assert (folder / "out" / "s.eaf").read_text() == "my own annotations"
    assert sorted(kept.written) == sorted(others)  # one annotated file does not keep back the others
    report = export(folder, force=True)
    assert [path.name for path in report.written] == ["s.eaf"]


def test_a_damaged_table_fails_its_session_and_the_others_go_on(folder):
    (folder / "run" / "frames" / "s.parquet").write_bytes(b"damaged")
    report = export(folder)
    assert list(report.failed) == ["s"]
    assert "s.parquet: not a readable table" in report.failed["s"]
    assert len(report.written) == 1
    assert "failed: s:" in str(report)


def test_a_run_without_features_shows_utterances(folder):
    for path in ("utterance_features.parquet", "descriptors.parquet", "frames/s.parquet"):
        (folder / "run" / path).unlink()
    assert export(folder).unmeasured_sessions == [HOSTILE, "s"]


def test_nothing_with_times_is_an_error(folder):
    with pytest.raises(InputError, match=r"none of 1 session has a turn with start_s and end_s"):
        export(folder, "eaf", TEXT_ONLY)
    assert not (folder / "out").exists()


def test_an_unknown_session_writes_nothing(folder):
    with pytest.raises(InputError, match=r"no session 'S'"):
        export(folder, "eaf", "s", "S")
    assert not (folder / "out").exists()


def test_a_folder_that_is_a_file(folder):
    (folder / "out").write_text("")
    with pytest.raises(InputError, match=r"cannot be written .*--out"):
        export(folder)


def test_report_in_words():
    report = ExportReport("eaf", Path("out"), untimed_turns=2, untimed_sessions=list("abcd"))
    report.unchanged = [Path("out/x.eaf")]
    assert str(report).splitlines() == [
        "wrote 0 files (.eaf) to out; 1 file had the same content already",
        "left out: 2 turns without usable times",
        "left out: 4 sessions (a, b, c, …) without any times: no file",
        "next: open out/x.eaf in ELAN",
    ]


def _command(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["export", *(str(argument) for argument in arguments)])
    return (ended.value.code, *capsys.readouterr())


def test_the_command(folder, capsys):
    arguments = (folder / "config.toml", "--format", "textgrid", "--out", folder / "out")
    code, out, err = _command(capsys, *arguments, "--session", "s")
    assert code == 0
    assert f"wrote 1 file (.TextGrid) to {folder / 'out'}" in out
    assert "in Praat" in out
    code, out, err = _command(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["unchanged"] == [str(folder / "out" / "s.TextGrid")]
    (folder / "run" / "frames" / "s.parquet").write_bytes(b"")
    assert _command(capsys, *arguments)[0] == 1
    assert _command(capsys, folder / "run", "--format", "eaf", "--out", folder / "out")[0] == 2
    assert _command(capsys, folder / "config.toml", "--format", "csv", "--out", folder / "out")[0] == 2
