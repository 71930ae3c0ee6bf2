import json

import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import dry_run_text
from apportion.pipeline.preflight import check
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus

TEXT = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "llm"\n[decompose.llm]\n'


def written(folder, options, exchanges=3):
    write_small_corpus(folder / "corpus", exchanges=exchanges)
    return load_config(config(folder, TEXT + 'base_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n' + options))


def test_the_parts_of_long_sessions_are_priced(tmp_path):
    long = written(tmp_path, "context_tokens = 4096\n", exchanges=80)
    priced = json.loads(dry_run_text(long, ["judge"], as_json=True))["language_model"]
    assert priced["requests"] > 2 * 12
    assert priced["unaskable_sessions"] == 0


def test_sessions_that_fit_in_no_parts_are_counted_apart(tmp_path):
    words = "Be careful. " * 400
    (tmp_path / "mine.txt").write_text(
        f"units: score\n[system]\n{words}\n[user]\n{{{{ transcript }}}}\n{{{{ turns }}}}\n"
    )
    short = written(tmp_path, 'context_tokens = 1024\nprompt = "mine.txt"\n')
    priced = json.loads(dry_run_text(short, ["judge"], as_json=True))["language_model"]
    assert (priced["requests"], priced["unaskable_sessions"]) == (0, 12)
    assert "12 sessions do not fit into decompose.llm.context_tokens" in dry_run_text(short, ["judge"], as_json=False)


def test_a_prompt_that_cannot_be_used_stops_before_any_work(tmp_path):
    (tmp_path / "mine.txt").write_text("nothing")
    with pytest.raises(InputError, match=r"decompose\.llm\.prompt: .*mine\.txt: its sections are none"):
        check(written(tmp_path, 'prompt = "mine.txt"\n'), ["judge"])
