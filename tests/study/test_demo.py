from pathlib import Path
from statistics import fmean

import pytest
from click.testing import CliRunner

from apportion.commands.studying.demo import demo_command
from foundation.errors import InputError
from study.demo import AFTER, ANNOTATORS, BEFORE, answer_all, demo_study, simulated
from study.gathered import gathered
from tests.study.made_up import made_study
from tests.study.studies import responses


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return demo_study(responses(25, (BEFORE, AFTER)), tmp_path_factory.mktemp("demo") / "study")


def test_every_item_is_answered_by_as_many_as_were_asked_for(made):
    report = made.report
    assert report.answered_items == report.items == 24 and not any("Not finished" in note for note in report.notes)
    assert report.people.answers == 24 * made.folder.settings.annotators_per_item


def test_it_is_named_as_simulated_everywhere(made):
    report = made.report
    assert report.simulated == len(report.annotators) <= ANNOTATORS and "simulated" in report.title
    assert "all of" in report.notes[0] and "no people" in report.notes[0]
    for path in made.files:
        assert "imulated" in path.read_text(encoding="utf-8")


def test_what_was_planted_is_what_is_told(made):
    planted, *found = made.lines()
    assert planted == "planted: after is better by 1 standard deviations of what an answer rests on"
    assert len(found) == 9
    # Of nine criteria five are marked by a third of answers and four unmarked by most, so that little is left above.
    assert fmean(one.difference.value for one in made.report.people.compared) > 0.1
    assert [one.annotator for one in made.report.flagged] == ["simulated-001"]


def test_the_careless_and_the_others_answer_through_the_store(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    answer_all(study, simulated(study, key, {"ppo": 1.0}), 2)
    rows = gathered(study).people
    assert {row.annotator for row in rows} == {"simulated-001", "simulated-002"}
    # The study's own file lets nobody in by a public link.
    assert not study.settings.public and {row.item for row in rows} >= set(study.settings.practice)


def test_without_a_finished_demo_it_says_how_to_have_one(tmp_path):
    with pytest.raises(InputError, match=r"no finished demo, since .*base is not there\. Run `apportion demo`"):
        CliRunner().invoke(demo_command, [str(tmp_path / "out"), "--run", str(tmp_path)], catch_exceptions=False)
    assert not (tmp_path / "out").exists() and Path(demo_command.params[0].default).parts[0] == "runs"
