import json

import pytest
from click.testing import CliRunner

from apportion.commands.study.report import report_command
from apportion.foundation.errors import InputError
from apportion.study.report.write import written
from apportion.study.rows import IMPORTED, JUDGED, rows_text
from tests.study.made_up import answered, made_study


@pytest.fixture
def study(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    rows = answered(study, key, careless=1)
    judged = [vars(row) | {"annotator": "judge:m"} for row in {row.item: row for row in rows}.values()]
    for folder, text in ((IMPORTED, rows_text(rows)), (JUDGED, "".join(json.dumps(row) + "\n" for row in judged))):
        (study.path / folder).mkdir()
        (study.path / folder / "some.jsonl").write_text(text)
    return study.path


def test_four_files_and_what_they_are_of(study):
    done = CliRunner().invoke(report_command, [str(study), "--resamples", "100"], catch_exceptions=False)
    assert [line.rpartition(".")[2] for line in done.output.splitlines()[-4:]] == ["html", "md", "tex", "json"]
    assert "note: Simulated annotators, no people: all of" in done.output and "flagged: 1" in done.output
    document = json.loads((study / "report" / "report.json").read_text())
    assert [judge["name"] for judge in document["judges"]] == ["m"]


def test_as_json_it_tells_the_same(study, tmp_path):
    asked = [str(study), "--out", str(tmp_path / "out"), "--format", "json", "--no-mixed", "--base", "ppo", "--json"]
    told = json.loads(CliRunner().invoke(report_command, asked, catch_exceptions=False).output)
    assert told["files"] == [str(tmp_path / "out" / "report.json")] and told["flagged"] == "1"
    assert json.loads((tmp_path / "out" / "report.json").read_text())["base"] == "ppo"


def test_a_format_that_there_is_not(study, tmp_path):
    with pytest.raises(InputError, match="no format 'pdf'; there are html, md, tex, json"):
        written(study, tmp_path, ["pdf"])
