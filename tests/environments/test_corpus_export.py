"""Played episodes as a corpus."""

from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.validate import validate
from apportion.environments.agents.agent import UNREVISED, UNUSABLE, ScriptedAgent
from apportion.environments.collect_episodes import CollectedEpisode, EpisodePlan, simulate
from apportion.environments.corpus_export import source_of, to_corpus
from apportion.environments.environment import Action
from tests.environments.games import Countdown, take
from tests.environments.test_collect_episodes import countdowns


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
    assert f"a model gave no usable reply: a silent act in its place in {len(steps[1::2])} cases" in notes
