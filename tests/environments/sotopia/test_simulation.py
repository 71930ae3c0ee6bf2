"""From a choice to a corpus."""

from pathlib import Path

import pytest

from corpus.corpus import Corpus
from environments.episode_log import read_log
from environments.sotopia.game import Rules
from environments.sotopia.simulation import LOG, Choice, plans_of, simulate_sotopia
from foundation.errors import InputError

SMALL = Choice(("conceding", "random"), ("used_bicycle", "surprise_party"), pairs=2, repeats=2, seed=3)


def test_a_choice_is_played_and_becomes_a_corpus(tmp_path: Path) -> None:
    report = simulate_sotopia(SMALL, tmp_path / "one")
    assert report.notes[0].startswith("simulated") and report.problems == () and report.left_out == ()
    assert len(read_log(tmp_path / "one" / LOG)) == len(plans_of(SMALL)) == 2 * 2 * 4 * 2
    corpus = Corpus.open(tmp_path / "one")
    assert {row["rater"] for row in corpus.tables["ratings"].to_pylist()} == {"environment"}
    assert all("simulated" in row["source"] for row in corpus.tables["sessions"].to_pylist())


def test_the_same_seed_gives_the_same_bytes_and_the_same_command_goes_on(tmp_path: Path) -> None:
    for name in ("one", "two"):
        simulate_sotopia(SMALL, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    before = {name: (tmp_path / "one" / name).read_bytes() for name in files}
    report = "import_report.json"
    assert {n: b for n, b in before.items() if n != report} == {
        name: (tmp_path / "two" / name).read_bytes() for name in files if name != report
    }
    simulate_sotopia(SMALL, tmp_path / "one")
    assert before == {name: (tmp_path / "one" / name).read_bytes() for name in files}


def test_another_choice_does_not_go_there_but_when_asked_to(tmp_path: Path) -> None:
    other = Choice(scenarios=("used_bicycle",), pairs=1, rules=Rules("paper"))
    simulate_sotopia(SMALL, tmp_path / "one")
    with pytest.raises(InputError, match="not empty"):
        simulate_sotopia(other, tmp_path / "one")
    simulate_sotopia(other, tmp_path / "one", overwrite=True)
    assert len(read_log(tmp_path / "one" / LOG)) == 1


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    simulate_sotopia(SMALL, tmp_path / "one")
    log = tmp_path / "one" / LOG
    log.write_bytes(log.read_bytes().replace(b'"step":2', b'"step":9', 1))
    with pytest.raises(InputError, match=r"episodes.jsonl: line \d+: no line of an episode log"):
        simulate_sotopia(SMALL, tmp_path / "one")


def test_nothing_to_play_and_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no scenario 'used_bike': did you mean 'used_bicycle'"):
        plans_of(Choice(scenarios=("used_bike",)))
    with pytest.raises(InputError, match="there are used_bicycle"):
        plans_of(Choice(scenarios=("xyz",)))
    with pytest.raises(InputError, match="nothing to play"):
        plans_of(Choice(repeats=0))
    with pytest.raises(InputError, match="nothing to play"):
        plans_of(Choice(agents=()))
