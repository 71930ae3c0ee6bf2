import json
from functools import partial

import pytest

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.environments.sotopia.evaluation.judges import judge, played
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

run = partial(called, "world", "evaluate")


def test_a_corpus_is_judged_beside_itself_and_the_next_command_is_told(tmp_path, capsys):
    played(tmp_path / "one")
    with serving(OpenAIServer(judge())) as server:
        arguments = (str(tmp_path / "one"), "--model", "m", "--base-url", server.url)
        assert run(*arguments, "--dry-run") == 0 and "nothing was sent" in capsys.readouterr().out
        assert run(*arguments, "--preview", "1", "--json") == 0
        assert "<episode>" in json.loads(capsys.readouterr().out)[0]["bodies"][0]["messages"][1]["content"]
        assert server.requests == []
        assert run(*arguments) == 0
        told = capsys.readouterr()
        assert f"next: apportion world tables sotopia {tmp_path / 'one'}-judged" in told.out
        assert "a model's score of it is no person's" in told.out
        assert run(*arguments, "--json", "-o", str(tmp_path / "two"), "--without", "rules") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["not_judged"] == [] and document["rows"]["ratings"] > 0
    assert set(Corpus.open(tmp_path / "two").ratings["annotator"].to_pylist()) == {"paper@m"}


def test_a_session_that_was_not_judged_is_named_with_code_1(tmp_path, capsys):
    played(tmp_path / "one")
    with serving(OpenAIServer(judge(), faults=(Fault(400, "no"),))) as server:
        assert run(str(tmp_path / "one"), "--model", "m", "--base-url", server.url, "--concurrency", "1") == 1
    assert "not judged: session used_bicycle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judges", "papr", "--model", "m"), "did you mean 'paper'?"),
        ((), "give --model"),
        (("--judges", ",", "--model", "m"), "nobody judges: give --judges"),
        (("--calls", "both"), "--calls"),
        (("--model", "m"), "--allow-host"),
        (("--model", "m", "--base-url", "http://localhost:9/v1", "--without", "bob"), "no ratings by 'bob'"),
    ],
)
def test_bad_input_ends_with_code_2(tmp_path, capsys, arguments, message):
    played(tmp_path / "one")
    assert run(str(tmp_path / "one"), *arguments) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "one-judged").exists()
