import json

import pytest
from click.testing import CliRunner

from apportion.cli import cli
from apportion.study.rows import JUDGED, rows_beside
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.study.judge.judges import first, judge
from tests.study.studies import study_in


@pytest.fixture
def study(tmp_path):
    return study_in(tmp_path / "study", "pairs")


def run(study, *arguments):
    return CliRunner().invoke(cli, ["study", "judge", str(study.path), "--model", "a-judge", *arguments])


def test_a_language_model_answers_a_study(study):
    with serving(OpenAIServer(judge("pairs", first))) as server:
        looked = [run(study, "--base-url", server.url, *more) for more in (["--preview", "1"], ["--dry-run"])]
        assert server.requests == [] and [one.exit_code for one in looked] == [0, 0]
        done = run(study, "--base-url", server.url)
        # As `apportion policy compare` calls it; the replies are kept, so that nothing is asked again.
        arguments = ["study", "judge", str(study.path), "--judge", "a-judge", "--base-url", server.url, "--json"]
        asked = len(server.requests)
        as_json = CliRunner().invoke(cli, arguments)
        assert len(server.requests) == asked > 0
    assert "nothing was sent (--preview)" in looked[0].output and "nothing was sent (--dry-run)" in looked[1].output
    assert done.exit_code == 0, done.output
    assert "answers: 46" in done.output and "next: apportion study report" in done.output
    assert json.loads(as_json.output) == {"answers": 46, "failed": [], "moved_by_order": {"better": 1.0}}
    assert len(rows_beside(study.path, JUDGED)) == 46


def test_answers_that_are_missing_end_with_code_1(study):
    with serving(OpenAIServer(lambda body: completion("no"))) as server:
        done = run(study, "--base-url", server.url)
    assert done.exit_code == 1 and "not answered: item " in done.output
