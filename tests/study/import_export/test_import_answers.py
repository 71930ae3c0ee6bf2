import pytest
from click.testing import CliRunner

from apportion.commands.study.export import export_command, import_command
from apportion.foundation.errors import InputError
from apportion.study.all_answers import gathered
from apportion.study.import_export.exchange import bring, hand_out
from apportion.study.import_export.external_answers import annotator_from
from tests.study.import_export.test_mturk_results import filled, written
from tests.study.made_up import made_study


def test_a_file_comes_in_once_and_again_in_place_of_itself(tmp_path):
    study, key = made_study(tmp_path / "study")
    lines, given = filled(study, key)
    source = written(lines, tmp_path / "Batch 12.csv")
    kept = bring(study.path, source)
    assert (kept.path.name, kept.answers, kept.annotators) == ("Batch-12.jsonl", len(given), 3)
    assert bring(study.path, source) == kept
    assert len(gathered(study).people) == len(given)
    with pytest.raises(InputError, match=r"answers item .*, and does so in another file of .*imported, too"):
        bring(study.path, written(lines, tmp_path / "other.csv"))


def test_another_file_of_the_same_name_replaces_nothing(tmp_path):
    study, key = made_study(tmp_path / "study")
    lines, given = filled(study, key)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    half = len(lines) // 2
    kept = bring(study.path, written(lines[:half], tmp_path / "first" / "results.csv"))
    before = kept.path.read_bytes()
    with pytest.raises(
        InputError, match=rf"results\.jsonl has {half} answers from a file of this name that are not in"
    ):
        bring(study.path, written(lines[half:], tmp_path / "second" / "results.csv"))
    assert kept.path.read_bytes() == before
    grown = bring(study.path, written(lines, tmp_path / "second" / "results.csv"))
    assert grown.path == kept.path and len(gathered(study).people) == len(given)


def test_what_cannot_be_brought(tmp_path):
    study, key = made_study(tmp_path / "study")
    with pytest.raises(InputError, match=r"x\.xlsx: a results file of Mechanical Turk ends in \.csv"):
        bring(study.path, tmp_path / "x.xlsx")
    lines, _ = filled(study, key, workers=1)
    rejected = [{**line, "AssignmentStatus": "Rejected"} for line in lines]
    with pytest.raises(InputError, match=r"no answer in it \(.* rejected assignments\)\. Nothing was kept"):
        bring(study.path, written(rejected, tmp_path / "r.csv"))
    assert not (study.path / "imported").exists()


def test_what_cannot_be_handed_out(tmp_path):
    study, _ = made_study(tmp_path / "study")
    with pytest.raises(InputError, match="no answers yet"):
        hand_out(study.path, tmp_path / "a.csv", "answers")
    with pytest.raises(InputError, match="'excel' cannot be written; there are answers, mturk, label-studio"):
        hand_out(study.path, tmp_path / "a.csv", "excel")
    (tmp_path / "b.html").write_text("mine")
    with pytest.raises(InputError, match=r"b\.html exists"):
        hand_out(study.path, tmp_path / "b.csv", "mturk")
    assert not (tmp_path / "b.csv").exists()


def test_an_address_becomes_a_hash():
    hashed = annotator_from("ann@example.org", "x", 7)
    assert hashed == annotator_from("ann@example.org", "x", 7) != annotator_from("ann@example.org", "x", 8)
    assert "ann" not in hashed and len(hashed) == len("x-") + 16


def test_there_and_back_by_the_commands(tmp_path):
    study, key = made_study(tmp_path / "study")

    def run(command, *arguments):
        return CliRunner().invoke(command, [str(study.path), *map(str, arguments)], catch_exceptions=False).output

    tasks = len(study.counted) + len(study.checks)
    assert f"{tasks} tasks" in run(export_command, tmp_path / "batch.csv", "--as", "mturk")
    run(export_command, tmp_path / "project.json", "--as", "label-studio")
    assert (tmp_path / "project.xml").read_text().startswith("<View>") and (tmp_path / "batch.html").is_file()
    lines, given = filled(study, key)
    lines[0]["AssignmentStatus"] = "Rejected"
    told = run(import_command, written(lines, tmp_path / "results.csv"))
    assert "note: passed over: 1 rejected assignments" in told and f"{len(given) - 1} answers by 3 annotators" in told
    assert f"of {len(given) - 1} answers" in run(export_command, tmp_path / "answers.parquet")
