"""From a policy to a folder that plays: scores before and after, the same bytes again, and what is refused."""

import json
from importlib import import_module

import pytest

from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.folder import read_window
from apportion.rlhf.social import methods, run
from apportion.rlhf.social.episodes import Scores, evaluate
from apportion.rlhf.social.methods import METHODS, SocialReport, train_social
from apportion.rlhf.social.run import SocialRun, SocialSettings
from tests.rlhf.social.small import Says, small_tasks

QUICK = SocialSettings(pairs=1, most_acts=3, draws=1, epochs=1, least=0.0, warmup=2, tokens=512)


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch):
    monkeypatch.setattr(run, "split_tasks", lambda *asked: small_tasks(QUICK.most_acts))


def folder_of(place):
    return {path.relative_to(place): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


# Three trainings of a tiny policy: some seconds.
def test_a_folder_plays_and_goes_on_and_equal_seeds_give_equal_bytes(tmp_path):
    told = []
    report = train_social("sotopia-pi", "tiny", tmp_path / "one", QUICK, 3, told.append)
    assert [line.split(":")[0] for line in told] == ["cloning", "cloning", "round 1", "round 1"]
    train_social("sotopia-pi", "tiny", tmp_path / "two", QUICK, 3)
    assert folder_of(tmp_path / "one") == folder_of(tmp_path / "two")
    written = json.loads((tmp_path / "one" / "social.json").read_text())
    assert written["before"]["by_task"] == report.before.by_task and written["settings"]["warmup"] == 2
    assert (
        written["means"]["gain"][0] == report.gain.value
        and "held-out tasks" in (tmp_path / "one/README.md").read_text()
    )
    assert read_window(str(tmp_path / "one"))["max_context_tokens"] == 512
    agent = ROSTER.scripted(f"policy@{tmp_path / 'one'}")
    played = evaluate(agent, methods.begin_run(str(tmp_path / "one"), QUICK, 3).tasks.held_out, Says("offer: 1"))
    assert len(played.by_task) == 1
    train_social("dsi", str(tmp_path / "one"), tmp_path / "more", QUICK, 3)
    assert (tmp_path / "more" / "base" / "config.json").is_file()


class Beside:
    """What a method learned beside adapters."""

    agent, start = Says("offer: 1"), Scores({"one": 0.0}, 0.0)

    def write(self, folder):
        (folder / "beside.txt").write_text("more")


def test_what_a_method_gives_plays_and_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", {"own": 1})
    monkeypatch.setattr(methods, "resolve_name", lambda place: lambda begun: Beside())
    asked, scored = [], SocialRun.evaluate
    monkeypatch.setattr(SocialRun, "evaluate", lambda self, agent: asked.append(agent) or scored(self, agent))
    told = []
    Beside.start = Scores({f"{small_tasks().held_out[0].name.rsplit('-', 2)[0]}": 0.0}, 0.0)
    report = train_social("own", "tiny", tmp_path / "out", QUICK, 0, told.append)
    assert told[-1] == f"over its own start: {report.after.mean.text(2, sign=True)}"
    assert (tmp_path / "out" / "beside.txt").read_text() == "more" and asked[1] is Beside.agent


def test_what_cannot_be_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(InputError, match=r"no social training 'sdop'.*sdpo"):
        train_social("sdop", "tiny", tmp_path / "out", QUICK, 0)
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="exists, and is not replaced"):
        train_social("sdpo", "tiny", tmp_path / "there", QUICK, 0)


def test_every_method_is_there():
    for name in METHODS:
        assert callable(import_module(f"apportion.rlhf.social.{name.replace('-', '_')}").train)


def test_a_report_tells_both_scores_and_the_paired_gain():
    names = [f"task {number}" for number in range(4)]
    before, after = (Scores(dict.fromkeys(names, value), 0.5) for value in (2.0, 5.0))
    text = SocialReport("sdpo", "tiny", before, after).text()
    assert text.startswith("sdpo, from tiny: goal score on 4 held-out tasks 2.00 [2.00, 2.00] before, 5.00")
    assert "gain +3.00 [+3.00, +3.00]" in text
