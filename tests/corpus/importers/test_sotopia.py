"""Published episodes of SOTOPIA."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.sotopia import _acts, _raw_acts, import_corpus
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.foundation.errors import InputError
from tests.shared import shared

FILES = ("example_episodes_with_scores", "old_example_episodes_with_scores")
SCORES = {
    "believability": 9.0, "relationship": 4.0, "knowledge": 7.0, "secret": 0.0, "social_rules": 0.0,
    "financial_and_material_benefits": -2.0, "goal": 10.0, "overall_score": 4.0,
}  # fmt: skip
EPISODE: dict[str, Any] = {
    "episode_id": "e1",
    "scenario": "A park",
    "agents_background": {"Ann Lee": "Ann is a cook. Ann's secrets: none", "Bob Ray": "Bob is a clerk."},
    "social_goals": {"Ann Lee": "Ask (<extra_info>Extra information: why</extra_info>)", "Bob Ray": "Say no"},
    "social_interactions": 'Ann Lee said: "Hi\n\nBob!"\n\nBob Ray: [action] Opens the door\n\n'
    "Ann Lee: [non-verbal communication] smile\n\nAnn Lee left the conversation",
    "rewards": [SCORES, SCORES | {"goal": 3.0, "overall_score": 3.0}],
}


def write(tmp_path: Path, *episodes: Any) -> Path:
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    return path


def test_marks_for_one_reader_and_speech_that_poses_as_an_act(tmp_path: Path) -> None:
    marked = 'A park. <p viewer="environment">Both know Al.</p><p viewer="agent_0">You are late.</p>'
    tables = import_corpus(write(tmp_path, EPISODE | {"scenario": marked}), {}).tables
    rows = [(row["speaker"], row["text"]) for row in tables["backgrounds"].to_pylist() if row["kind"] == "scenario"]
    assert rows == [(None, "A park. "), ("Ann Lee", "A park. You are late.")]
    text = 'Ann Lee said: "[Physical Action] pays"\n\nBob Ray: [action] pays\n\nAnn Lee said: "[action] no act"'
    tables = import_corpus(write(tmp_path, EPISODE | {"social_interactions": text}), {}).tables
    said = [row["text"] for row in tables["utterances"].to_pylist()]
    assert said == ["[speak] [Physical Action] pays", "[physical action] pays", "[action] no act"]


def test_an_episode(tmp_path: Path) -> None:
    tables = import_corpus(write(tmp_path, EPISODE), {}).tables
    said = [(row["speaker"], row["text"]) for row in tables["utterances"].to_pylist()]
    assert said == [
        ("Ann Lee", "Hi\n\nBob!"),
        ("Bob Ray", "[physical action] Opens the door"),
        ("Ann Lee", "[non-verbal communication] smile"),
        ("Bob Ray", "[none] did nothing"),
        ("Ann Lee", "[leave] left the conversation"),
    ]
    rows = [(row["speaker"], row["kind"], row["text"]) for row in tables["backgrounds"].to_pylist()]
    assert rows[:3] == [
        (None, "scenario", "A park"),
        ("Ann Lee", "goal", "Ask (Extra information: why)"),
        ("Ann Lee", "profile", "Ann is a cook. Ann's secrets: none"),
    ]
    ratings = tables["ratings"].to_pylist()
    assert {row["rater"] for row in ratings} == {"environment"} and {row["annotator"] for row in ratings} == {
        "not named"
    }
    assert [(row["target"], row["score"]) for row in ratings if row["name"] == "GOAL"] == [
        ("Ann Lee", 10.0),
        ("Bob Ray", 3.0),
    ]
    assert tables["sessions"]["source"][0].as_py() == "simulated: sotopia, agents not named, judge not named"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": [SCORES | {"overall_score": 5.0}, SCORES]}, "overall_score is 5.0, and the mean of the seven"),
        ({"rewards": [SCORES]}, "not in SOTOPIA's shape"),
        ({"rewards": [SCORES | {"goal": "high"}, SCORES]}, "goal"),
        ({"agents_background": {"Ann Lee": "x"}}, "1 agents"),
        ({"social_goals": {"Ann Lee": "x"}}, "Bob Ray"),
        ({"social_interactions": "Once upon a time"}, "which is no act of"),
        ({"social_interactions": ""}, "nobody does anything"),
        ({"raw_messages": [[["Ann Lee", "Environment", None]]]}, "None is sent, and a text is needed"),
        ({"episode_id": "e1"}, "is there already"),
    ],
)
def test_a_broken_episode_is_left_out_and_costs_no_other(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    made = import_corpus(write(tmp_path, EPISODE, EPISODE | {"episode_id": "e2"} | change), {})
    assert made.tables["sessions"].num_rows == 1 and len(made.left_out) == 1
    assert message in made.left_out[0].message and "line 2" in made.left_out[0].message


def test_who_does_nothing_at_all_is_left_out_and_told(tmp_path: Path) -> None:
    alone = EPISODE | {"social_interactions": 'Ann Lee said: "Hi"'}
    made = import_corpus(write(tmp_path, alone), {})
    assert {row["target"] for row in made.tables["ratings"].to_pylist()} == {"Ann Lee"}


def test_what_is_no_file_of_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no episodes of SOTOPIA"):
        import_corpus(write(tmp_path, {"a": 1}), {})
    with pytest.raises(InputError, match="unknown option"):
        import_corpus(write(tmp_path, EPISODE), {"low": "1"})


def released() -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for name in FILES
        for line in gzip.open(shared(f"data/sotopia_rl/{name}.jsonl.gz"), "rt", encoding="utf-8")
    ]


def test_all_released_episodes_come_with_every_act_goal_and_score(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in FILES:
        (source / f"{name}.jsonl.gz").symlink_to(shared(f"data/sotopia_rl/{name}.jsonl.gz"))
    report = import_to("sotopia", source, tmp_path / "corpus")
    episodes = released()
    assert report.rows["sessions"] == len(episodes) == 50 and report.left_out == () and report.problems == ()
    corpus = Corpus.open(tmp_path / "corpus")
    ratings = corpus.tables["ratings"].to_pylist()
    seven: dict[tuple[str, str], list[float]] = {}
    for row in ratings:
        if row["name"] != OVERALL:
            low, high = RANGES[row["name"]]
            assert (row["low"], row["high"]) == (low, high) and low <= row["score"] <= high
            seven.setdefault((row["session_id"], row["target"]), []).append(row["score"])
    overall = {(r["session_id"], r["target"]): r["score"] for r in ratings if r["name"] == OVERALL}
    assert len(overall) == 100 and set(map(len, seven.values())) == {7}
    assert all(abs(sum(seven[key]) / 7 - value) < 1e-9 for key, value in overall.items())
    goals = [row for row in corpus.tables["backgrounds"].to_pylist() if row["kind"] == "goal"]
    assert len(goals) == 100 and all("<" not in row["text"] for row in goals)


def test_acts_from_the_text_are_those_of_the_raw_messages() -> None:
    """The files without raw messages leave out who did nothing; what fills the gaps is checked where both are there."""
    both = [episode for episode in released() if "raw_messages" in episode]
    assert len(both) == 20
    for episode in both:
        names = list(episode["agents_background"])
        raw, told = _raw_acts(episode["raw_messages"], names), _acts(episode, names)
        assert [(name, act.strip()) for name, act in raw] == [(name, act.strip()) for name, act in told]
