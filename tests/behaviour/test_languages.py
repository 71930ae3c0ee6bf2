"""Chats in other languages than English, from import to rewards: no English rule speaks of them, and each is told."""

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.preflight import check
from tests.apportion.called import called
from tests.behaviour.command import config, in_process
from tests.corpus.languages.chats import write_chats

NAMES = {"de": "German (de)", "zh": "Chinese (zh)", "es": "Spanish (es)", "de+en": "German and English (de+en)"}
TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
last_stage = "rewards"
[decompose]
method = "sentiment"
compare = ["uniform"]
"""


METHODS = ("uniform", "sentiment")


def imported(folder, *languages):
    (folder / "in").mkdir()
    arguments = ("import", "chat", write_chats(folder / "in", *languages), folder / "corpus")
    assert called(*arguments, "-o", "low=1", "-o", "high=5") == 0
    return folder / "corpus"


def checked(corpus, *methods):
    values = {
        "corpus": corpus,
        "output": corpus.parent / "run",
        "decompose": {"method": methods[-1], "compare": methods[:-1]},
    }
    return check(Config.model_validate(values), ["rewards"])


@pytest.mark.parametrize("language", NAMES)
def test_english_rules_are_refused_by_name_and_the_others_work(language, tmp_path, capsys):
    corpus = imported(tmp_path, language)
    found = [session.language for session in Corpus.open(corpus).iter_sessions()]
    assert len(found) == 20 and found.count("+".join(sorted(language.split("+")))) >= 19
    assert f"by the words: {found.count(language)} {NAMES[language]}" in capsys.readouterr().out
    for method in ("sentiment", "sentiment-utterance", "reactions-en", "rrd-ls"):
        with pytest.raises(InputError, match=f"'{method}'.* English alone, and there is only 20 sessions"):
            checked(corpus, "uniform", method)
    assert any("the cues of a reply that are English words" in told for told in checked(corpus, "reaction"))
    assert not any("English" in told for told in checked(corpus, "uniform"))


@pytest.mark.slow
def test_of_a_corpus_in_several_languages_english_alone_is_judged_and_the_rest_is_told(tmp_path, monkeypatch):
    corpus = imported(tmp_path, "en", *NAMES)
    assert any("'sentiment' understands English alone" in told for told in checked(corpus, *METHODS))
    done = in_process(monkeypatch, "run", config(tmp_path, TEXT))
    assert done.returncode == 0, done.stderr
    assert "'sentiment' understands English alone and says nothing of 80 sessions" in done.stderr
    assert all(name in done.stderr for name in NAMES.values())
    rewards = pq.read_table(tmp_path / "run" / "rewards.parquet").to_pylist()
    judged = {method: {row["session_id"] for row in rewards if row["method"] == method} for method in METHODS}
    assert judged["sentiment"] == {f"en-{number:02d}" for number in range(20)} and len(judged["uniform"]) == 100
    assert "understands English alone" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
