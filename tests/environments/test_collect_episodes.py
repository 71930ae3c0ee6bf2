"""Many episodes: beside each other, killed, gone on with."""

import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from apportion.corpus.builder import SkippedSession
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.validate import validate
from apportion.environments.actions import UNUSABLE
from apportion.environments.agents.agent import UNREVISED, Agent, RandomLegalAgent, ScriptedAgent
from apportion.environments.collect_episodes import CollectedEpisode, EpisodePlan, play, simulate
from apportion.environments.corpus_export import source_of, to_corpus
from apportion.environments.environment import Action, AgentAction, Observation, Step
from apportion.environments.episode_log import EpisodeLog, check_same, read_log
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError, UnitError
from tests.environments.games import Countdown, take


def test_moves_are_told_before_they_are_done() -> None:
    game = Countdown(["ann", "bob"])
    told: list[tuple[int, Step]] = []
    one = ScriptedAgent("one", lambda view: take(1))
    steps = play(game, {"ann": one, "bob": one}, before=lambda moves: told.append((len(game.steps), moves)))
    assert steps == len(game.steps) and [number for number, _ in told] == list(range(steps))
    assert [moves for _, moves in told] == game.steps


def test_somebody_acts_for_everybody() -> None:
    with pytest.raises(InputError, match="nobody acts for 'bob'"):
        play(Countdown(["ann", "bob"]), {"ann": ScriptedAgent("one", lambda view: take(1))})


def test_an_act_that_is_not_allowed_is_not_told() -> None:
    wrong = ScriptedAgent("wrong", lambda view: Action("fly"))
    told: list[Step] = []
    with pytest.raises(UnitError, match="may not 'fly'"):
        play(Countdown(["ann", "bob"]), {"ann": wrong, "bob": wrong}, before=told.append)
    assert told == []


def countdowns(count: int, agent: Agent) -> list[EpisodePlan]:
    make = partial(Countdown, ["ann", "bob"])
    return [EpisodePlan(f"game {i}", make, {"ann": agent, "bob": agent}, seed=i) for i in range(count)]


def test_order_and_bytes_do_not_depend_on_how_many_play_at_once(tmp_path: Path) -> None:
    taker = ScriptedAgent("taker", lambda view: take(view.draws.randint(1, 3)))
    tables = []
    for concurrency in (1, 7):
        ended: list[int] = []
        log = tmp_path / f"{concurrency}.jsonl"
        played = simulate(countdowns(30, taker), log, concurrency=concurrency, progress=ended.append)
        assert sum(ended) == 30 and [one.plan.name for one in played.played] == [f"game {i}" for i in range(30)]
        tables.append(to_corpus(played).tables)
    assert tables[0] == tables[1]


def test_a_paid_act_is_asked_for_once(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []
    stop_at = 25

    def pay(view: Observation) -> Action:
        if len(asked) == stop_at:
            raise KeyboardInterrupt
        asked.append((view.text, view.step))
        return take(1)

    plans = countdowns(6, ScriptedAgent("paid", pay, paid=True))
    with pytest.raises(KeyboardInterrupt):
        simulate(plans, tmp_path / "log.jsonl")
    stop_at = -1
    played = simulate(plans, tmp_path / "log.jsonl").played
    assert len(asked) == sum(len(one.environment.steps) for one in played)
    before = len(asked)
    again = simulate(plans, tmp_path / "log.jsonl").played
    assert len(asked) == before and [o.environment.steps for o in again] == [o.environment.steps for o in played]


def test_whoever_stops_it_waits_for_one_act_of_each_episode_and_no_more(tmp_path: Path) -> None:
    """Ctrl-C beside four episodes of slow agents: their acts under way are kept, and no others are asked for."""
    asked: list[int] = []

    def slow(view: Observation) -> Action:
        asked.append(view.step)
        time.sleep(0.05)
        return take(1) if len(asked) < 400 else Action("pass")

    def interrupt(ended: int) -> None:
        raise KeyboardInterrupt

    quick = ScriptedAgent("quick", lambda view: take(3))
    plans = countdowns(9, ScriptedAgent("slow", slow, paid=True))
    plans[0] = EpisodePlan("game 0", plans[0].make, {"ann": quick, "bob": quick})
    with pytest.raises(KeyboardInterrupt):
        simulate(plans, tmp_path / "log.jsonl", concurrency=4, progress=interrupt)
    assert 0 < len(asked) <= 8
    kept = sum(len(one.steps) for name, one in read_log(tmp_path / "log.jsonl").items() if name != "game 0")
    assert kept == len(asked)


def test_an_episode_that_fails_stops_no_other(tmp_path: Path) -> None:
    wrong = ScriptedAgent("wrong", lambda view: Action("fly") if view.text.startswith("7") else take(3))
    simulated = simulate(countdowns(20, wrong))
    assert 0 < len(simulated.failed) < 20 and len(simulated.played) + len(simulated.failed) == 20
    assert isinstance(simulated.failed[0], SkippedSession) and "may not 'fly'" in simulated.failed[0].message


def test_a_log_of_other_settings_is_no_log_of_these(tmp_path: Path) -> None:
    one, other = ScriptedAgent("one", lambda view: take(1)), ScriptedAgent("other", lambda view: take(2))
    simulate(countdowns(2, one), tmp_path / "log.jsonl")
    simulated = simulate(countdowns(2, other), tmp_path / "log.jsonl")
    assert (
        simulated.played == () and "'other'" in simulated.failed[0].message and "'one'" in simulated.failed[0].message
    )


def test_two_episodes_of_one_name_are_refused() -> None:
    plans = countdowns(1, RandomLegalAgent()) * 2
    with pytest.raises(InputError, match="2 episodes are called 'game 0'"):
        simulate(plans)


def test_two_processes_do_not_play_at_one_log(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(view: Observation) -> Action:
        begun.set()
        assert go_on.wait(60)
        return take(3)

    first = threading.Thread(
        target=simulate, args=(countdowns(1, ScriptedAgent("slow", wait)), tmp_path / "log.jsonl"), daemon=True
    )
    first.start()
    assert begun.wait(60)
    with pytest.raises(InputError, match="another process plays"):
        simulate(countdowns(1, RandomLegalAgent()), tmp_path / "log.jsonl")
    go_on.set()
    first.join(60)


def bundled(agent: Agent) -> list[EpisodePlan]:
    tasks = bundled_tasks.tasks()
    return [
        EpisodePlan(f"{i}", partial(Sotopia, task), {one.name: agent for one in task.characters}, i, {"task": i})
        for i, task in enumerate(tasks)
    ]


CHILD = """
import sys
from pathlib import Path
from tests.environments.test_collect_episodes import killable
killable(Path(sys.argv[1]))
"""


def killable(log: Path) -> None:
    """Plays as the child process does: every act is paid for, and told to the test before it is given."""
    conceding = Conceding()
    told = log.with_suffix(".asked").open("a")

    def act(view: Observation) -> Action:
        told.write(f"{view.agent} {view.step} {view.facts.part.context}\n")
        told.flush()
        return conceding.act(view)

    simulate(bundled(ScriptedAgent("conceding", act, paid=True)), log, concurrency=3)


@pytest.mark.parametrize("most", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_the_corpus_is_the_same_and_no_act_but_those_in_flight_is_asked_twice(
    tmp_path: Path, most: int
) -> None:
    whole = tmp_path / "whole.jsonl"
    killable(whole)
    expected = to_corpus(simulate(bundled(Conceding()), whole)).tables
    asked = len(whole.with_suffix(".asked").read_text().splitlines())
    log = tmp_path / "killed.jsonl"
    draws, kills = random.Random(5), 0
    # So that the last life has something left to play, whatever the draws are.
    grows = int(0.9 * whole.stat().st_size / most)
    while kills < most:
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(log)])
        grown = _size(log) + draws.randint(0, grows)
        while child.poll() is None and _size(log) < grown:
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        if child.wait() == 0:
            break
        kills += 1
    killable(log)
    assert kills >= most // 2
    assert to_corpus(simulate(bundled(Conceding()), log)).tables == expected
    assert len(log.with_suffix(".asked").read_text().splitlines()) <= asked + 3 * kills
    assert len(read_log(log)) == len(bundled(Conceding()))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


MOVES = (
    AgentAction("ann", Action("speak", "half a pair \ud83d and </done>")),
    AgentAction("bob", Action("vote", "", {"for": [1, 2]})),
)


def _written(path: Path) -> Path:
    with EpisodeLog(path) as log:
        log.begin("one", {"seed": 1})
        log.begin("two", {"seed": 2})
        log.moves("one", 0, MOVES, sync=True)
        log.end("one", {"outcome": {"ann": {"points": None}}})
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    episodes = read_log(_written(tmp_path / "log.jsonl"))
    assert list(episodes) == ["one", "two"] and episodes["one"].steps == [MOVES]
    assert episodes["one"].closing == {"outcome": {"ann": {"points": None}}} and episodes["two"].closing is None
    assert read_log(tmp_path / "none.jsonl") == {}


def test_a_line_that_a_kill_cut_off_is_dropped_and_mended(tmp_path: Path) -> None:
    path = _written(tmp_path / "log.jsonl")
    whole = path.read_bytes()
    for cut in range(len(whole) - 1, len(whole) - 40, -1):
        path.write_bytes(whole[:cut])
        assert read_log(path)["one"].steps == [MOVES] and path.stat().st_size == cut
        read_log(path, mend=True)
        assert path.read_bytes().endswith(b"\n") and path.stat().st_size < cut + 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 5"),
        ('{"episode": 3, "begin": {}}', "episode is not text"),
        ('{"episode": "two", "begin": {}}', "begins twice"),
        ('{"episode": "six", "step": 0, "acts": []}', "has not begun"),
        ('{"episode": "one", "step": 1, "acts": []}', "has ended before"),
        ('{"episode": "two", "step": 4, "acts": []}', "step 0 is expected"),
        ('{"episode": "two", "step": 0, "acts": [["ann"]]}', "an act is"),
        ('{"episode": "two"}', "step"),
        ("[]", "no line of an episode log"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = _written(tmp_path / "log.jsonl")
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(InputError, match=message) as error:
        read_log(path)
    assert "line 5" in str(error.value) and "Delete the line" in str(error.value)


def test_another_episode_of_the_same_name_is_refused(tmp_path: Path) -> None:
    one = read_log(_written(tmp_path / "log.jsonl"))["one"]
    check_same("one", one, {"seed": 1})
    with pytest.raises(UnitError, match="episode 'one': seed is 7, and 1 in the log"):
        check_same("one", one, {"seed": 7})


def test_an_episode_becomes_a_session_that_the_corpus_checks(tmp_path: Path) -> None:
    simulated = simulate(countdowns(4, ScriptedAgent("taker", lambda view: take(1))))
    made = to_corpus(simulated)
    assert made.notes == ("style is not known: no rating in 8 cases",)
    assert set(made.tables["ratings"]["rater"].to_pylist()) == {ENVIRONMENT}
    assert made.tables["sessions"]["source"][0].as_py() == ("simulated: countdown, agents taker and taker, judge rules")
    backgrounds = made.tables["backgrounds"].to_pylist()[:2]
    assert [(row["speaker"], row["kind"], row["text"]) for row in backgrounds] == [
        (None, "rules", "take 1 to 3"),
        ("ann", "goal", "win"),
    ]
    Corpus.of(tmp_path, made.tables).write(tmp_path / "corpus")
    assert validate(Corpus.open(tmp_path / "corpus")) == []


def test_what_nobody_hears_is_no_utterance() -> None:
    simulated = simulate(
        countdowns(1, ScriptedAgent("mixed", lambda view: take(1) if view.step % 2 else Action("pass")))
    )
    played = simulated.played[0]
    assert isinstance(played, CollectedEpisode)
    heard = to_corpus(simulated).tables["utterances"]
    assert heard.num_rows == sum(move.act.kind == "take" for moves in played.environment.steps for move in moves)
    assert source_of(played, "x").endswith("judge x")


def test_what_stands_instead_of_a_model_s_words_is_counted() -> None:
    says = {"ann": Action("take", "1", {UNREVISED: "no JSON"}), "bob": Action("take", "1", {UNUSABLE: "no JSON"})}
    agents = {name: ScriptedAgent(name, lambda view, act=act: act) for name, act in says.items()}
    plan = EpisodePlan("one", lambda: Countdown(["ann", "bob"]), agents, seed=1)
    played = simulate([plan])
    (steps,) = [one.environment.steps for one in played.played]
    notes = to_corpus(played).notes
    assert f"a model gave no usable revision: its draft stands in {len(steps[::2])} cases" in notes
    assert f"no usable reply: another act in its place in {len(steps[1::2])} cases" in notes
