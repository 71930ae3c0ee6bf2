"""From a choice of judges to a corpus with their ratings."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from apportion.corpus.account import RECORD
from apportion.corpus.corpus import Corpus
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus, planned
from apportion.environments.sotopia.evaluation.scores import VERDICTS, read_verdicts
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.foundation.errors import InputError, StoppedError
from apportion.llm_client.model_spec import CACHE, ModelSpec
from tests.environments.sotopia.evaluation.judges import OVERALL, SCORES, damaged, judge, played
from tests.llm_client.openai_server import Body, Fault, OpenAIServer, serving


def choice_of(corpus: Corpus, url: str, *judges: str, **more: Any) -> JudgingChoice:
    return JudgingChoice(corpus, judges or ("paper",), chosen=ModelSpec("m", base_url=url), **more)


def contents(folder: Path) -> dict[str, bytes]:
    kept = ("sqlite", "lock", "report.json")
    return {path.name: path.read_bytes() for path in folder.iterdir() if not any(word in path.name for word in kept)}


def test_several_judges_rate_every_episode_and_nobody_is_asked_twice(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    with serving(OpenAIServer(judge())) as server:
        choice = choice_of(corpus, server.url, "paper", "fine-grained", "paper@other")
        judged = judge_corpus(choice, tmp_path / "two")
        assert len(server.requests) == 3 * len(corpus.session_ids()) and judged.failed == ()
        assert {body["temperature"] for body in server.requests} == {0.0}
        assert Counter(body["model"] for body in server.requests)["other"] == len(corpus.session_ids())
        before = contents(tmp_path / "two")
        judge_corpus(choice, tmp_path / "two")
        assert len(server.requests) == 3 * len(corpus.session_ids()) and contents(tmp_path / "two") == before
    made = Corpus.open(tmp_path / "two").ratings.to_pylist()
    for name in ("paper@m", "fine-grained@m", "paper@other"):
        assert {row["score"] for row in made if (row["annotator"], row["name"]) == (name, "overall")} == {OVERALL}
        assert {row["score"] for row in made if (row["annotator"], row["name"]) == (name, "GOAL")} == {SCORES["GOAL"]}


def test_a_judged_corpus_can_be_played_on_as_the_one_before(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    record = json.loads((tmp_path / "one" / RECORD).read_text())
    (tmp_path / "one" / RECORD).write_text(json.dumps({**record, "temperature": 0.3}))
    with serving(OpenAIServer(judge())) as server:
        judge_corpus(choice_of(corpus, server.url), tmp_path / "two")
        judge_corpus(choice_of(Corpus.open(tmp_path / "two"), server.url, "fine-grained"), tmp_path / "three")
    three = Corpus.open(tmp_path / "three")
    for session in three.iter_sessions():
        assert str(session.source).endswith("judge rules and paper@m and fine-grained@m")
        identity = SIMULATOR.identity(session, tmp_path / "three")
        assert identity is not None and identity["temperature"] == 0.3
        assert identity == SIMULATOR.identity(corpus.session(session.session_id), tmp_path / "one")


def test_a_session_that_fails_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    bad = corpus.session(corpus.session_ids()[1]).turns[0].text

    def refuse(body: Body) -> Fault | None:
        return Fault(400, "no") if json.dumps(bad)[1:-1] in body["messages"][1]["content"] else None

    with serving(OpenAIServer(judge(), refuse=refuse)) as server:
        judged = judge_corpus(choice_of(corpus, server.url), tmp_path / "two")
    names = {one.session_id for one in judged.failed}
    assert corpus.session_ids()[1] in names and len(names) < len(corpus.session_ids())
    assert "gave" in judged.failed[0].message and "no score in BEL, REL" in judged.text()
    assert judged.to_json()["not_judged"][0]["session_id"] in names
    rated = {
        row["session_id"] for row in Corpus.open(tmp_path / "two").ratings.to_pylist() if row["annotator"] == "paper@m"
    }
    assert rated == set(corpus.session_ids()) - names
    causes = {one.given["GOAL"].cause for one in read_verdicts(tmp_path / "two")}
    assert None in causes and all(cause is None or cause.endswith(": no") for cause in causes)


def test_damaged_sessions_are_left_out_and_those_without_goals_are_not_judged(tmp_path: Path) -> None:
    first, second, third, *_ = damaged(tmp_path / "one")
    with serving(OpenAIServer(judge())) as server:
        judged = judge_corpus(choice_of(Corpus.open(tmp_path / "one"), server.url), tmp_path / "two")
    assert [one.session_id for one in judged.failed] == [first] and "no goal of" in judged.failed[0].message
    assert [one.session_id for one in judged.report.left_out] == [second] and judged.report.problems == ()
    assert third in {one.session_id for one in read_verdicts(tmp_path / "two")}
    assert set(Corpus.open(tmp_path / "two").session_ids()) == set(played(tmp_path / "three").session_ids()) - {second}


def test_what_cannot_be_judged_at_all_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    for judges, message in ((("paper", "paper@m"), "two judges are called 'paper@m'"), ((" ",), "no prompt ' '")):
        with pytest.raises(InputError, match=message):
            judge_corpus(choice_of(corpus, "http://localhost:9/v1", *judges), tmp_path / "two")
    with pytest.raises(InputError, match=r"nobody judges: give judges at least one of fine-grained, paper"):
        judge_corpus(JudgingChoice(corpus, (), chosen=ModelSpec("m")), tmp_path / "two")
    with pytest.raises(InputError, match="allow_host"):
        judge_corpus(choice_of(corpus, "http://example.com/v1"), tmp_path / "two")
    with pytest.raises(InputError, match="is not written over"):
        judge_corpus(choice_of(corpus, "http://localhost:9/v1"), tmp_path / "one")
    assert not (tmp_path / "two").exists()


def test_another_choice_does_not_go_there_but_when_asked_to(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    with serving(OpenAIServer(judge())) as server:
        judge_corpus(choice_of(corpus, server.url), tmp_path / "two")
        asked = len(server.requests)
        both = choice_of(corpus, server.url, "paper", "fine-grained", without=("rules",))
        with pytest.raises(InputError, match="not empty"):
            judge_corpus(both, tmp_path / "two")
        judge_corpus(both, tmp_path / "two", overwrite=True)
        assert len(server.requests) == 2 * asked
    assert set(Corpus.open(tmp_path / "two").ratings["annotator"].to_pylist()) == {"paper@m", "fine-grained@m"}


def test_a_budget_stops_it_and_the_same_call_goes_on(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.m]\ninput = 1000.0\noutput = 1000.0\n")
    with serving(OpenAIServer(judge())) as server:
        chosen = ModelSpec("m", base_url=server.url, prices=prices, budget=6.1, concurrency=1)
        with pytest.raises(StoppedError):
            judge_corpus(JudgingChoice(corpus, chosen=chosen), tmp_path / "two")
        judge_corpus(choice_of(corpus, server.url), tmp_path / "two")
        assert len(server.requests) == len(corpus.session_ids())


KILLED = """
import sys
from pathlib import Path
from apportion.corpus.corpus import Corpus
from apportion.corpus.account import RECORD
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus
from apportion.llm_client.model_spec import ModelSpec
corpus, out, url = sys.argv[1:]
judge_corpus(JudgingChoice(Corpus.open(corpus), ("paper", "fine-grained"), "agent",
    ModelSpec("m", base_url=url, concurrency=4)), Path(out))
"""


@pytest.mark.slow
def test_killed_at_random_moments_it_goes_on_to_the_same_bytes_and_no_reply_comes_twice(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    draws = random.Random(5)
    with serving(OpenAIServer(judge(), latency_s=0.03)) as server:
        judge_corpus(
            JudgingChoice(corpus, ("paper", "fine-grained"), "agent", ModelSpec("m", base_url=server.url)),
            tmp_path / "whole",
        )
        all_asked = len(server.requests)
        server.requests.clear()
        server.written.clear()
        command = [sys.executable, "-c", KILLED, str(tmp_path / "one"), str(tmp_path / "two"), server.url]
        kills = 0
        while True:
            child = subprocess.Popen(command, start_new_session=True, cwd=Path.cwd(), env=dict(os.environ))
            wanted = len(server.written) + draws.randint(1, all_asked // 4)
            while child.poll() is None and len(server.written) < wanted:
                time.sleep(0.002)
            if child.poll() is not None:
                break
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            kills += 1
        for _ in range(4):  # While everything is answered: kills hit the reading and the writing of tables.
            child = subprocess.Popen(command, start_new_session=True, cwd=Path.cwd(), env=dict(os.environ))
            time.sleep(draws.uniform(0.2, 1.5))
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        child = subprocess.Popen(command, cwd=Path.cwd(), env=dict(os.environ))
        child.wait()
        assert child.returncode == 0 and kills >= 4
        again = len(server.requests) - all_asked
    assert again <= 4 * kills, "more than those in flight were asked again"
    assert contents(tmp_path / "two") == contents(tmp_path / "whole")
    assert (tmp_path / "two" / CACHE).exists() and (tmp_path / "two" / VERDICTS).exists()


def test_every_question_is_counted_shown_and_sent_to_nobody(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    out, sessions = tmp_path / "two", len(corpus.session_ids())
    with serving(OpenAIServer(judge())) as server:
        chosen = ModelSpec("m", base_url=server.url)
        choice = JudgingChoice(corpus, ("paper", "fine-grained", "paper@other"), chosen=chosen)
        prices = [one.price() for one in planned(choice, out)]
        assert [(one.model, one.requests) for one in prices] == [("m", 2 * sessions), ("other", sessions)]
        shown = [one.preview(2) for one in planned(choice, out)]
        assert [len(one.requests) for one in shown] == [2, 2] and shown[0].in_all == 2 * sessions
        assert server.requests == [] and not out.exists()
        judge_corpus(JudgingChoice(corpus, chosen=chosen), out)
        sent = {body["messages"][1]["content"] for body in server.requests}
        assert {request.messages[1].content for request in shown[0].requests} & sent
        assert [one.price().remaining for one in planned(choice, out)] == [sessions, sessions]
        assert [one.preview(1).in_all for one in planned(choice, out)] == [sessions, sessions]
