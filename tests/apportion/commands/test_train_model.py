import json
from functools import partial

from apportion.rlhf import language_model_finetune
from tests.apportion.called import called
from tests.behaviour.small import write_small_corpus

run = partial(called, "train", "measurer")


def test_its_options_reach_the_training(tmp_path, capsys, monkeypatch):
    asked = []

    def learn(sessions, out, settings, note):
        asked.append((len(sessions), settings))
        note(10, 1.5)
        return language_model_finetune.HeldOutText(1.5, 6.0, 100, 1, 2)

    monkeypatch.setattr(language_model_finetune, "train_corpus_model", learn)
    write_small_corpus(tmp_path / "corpus", sessions=3)
    arguments = (str(tmp_path / "corpus"), "-o", str(tmp_path / "model"), "--steps", "10")
    assert run(*arguments, "--tokens", "640", "--json") == 0
    assert asked == [(3, language_model_finetune.CorpusModelSettings(steps=10, tokens=640))]
    assert json.loads(capsys.readouterr().out)["read"] == 2
    assert run(*arguments) == 0 and "learned from 2 sessions" in capsys.readouterr().out
    assert run(*arguments, "--tokens", "64") == 2 and "--tokens" in capsys.readouterr().err
