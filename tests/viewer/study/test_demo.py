from contextlib import closing
from dataclasses import replace
from statistics import fmean

import pytest

from apportion.study.all_answers import gathered
from apportion.study.demo import AFTER, BEFORE, make_demo, planted, report_demo, simulated, simulated_names
from apportion.study.store.store import Store
from apportion.viewer.study.serve import served_beside
from apportion.viewer.study.simulated_browser import Browser, Visit, VisitError, visited
from tests.study.made_up import made_study
from tests.study.studies import responses


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    study = make_demo(responses(15, (BEFORE, AFTER)), tmp_path_factory.mktemp("demo") / "study")
    told = []
    answers = visited(planted(study), simulated_names(study), lambda *now: told.append(now))
    return report_demo(study), answers, told


def test_every_item_is_answered_by_as_many_as_were_asked_for(made):
    demo, answers, told = made
    report = demo.report
    assert report.answered_items == report.items == 14 and not any("Not finished" in note for note in report.notes)
    assert report.people.answers == 14 * demo.folder.settings.annotators_per_item
    assert answers == len(gathered(demo.folder).people) and [now[:2] for now in told] == [(n, 5) for n in range(1, 6)]


def test_it_is_named_as_simulated_everywhere(made):
    report = made[0].report
    assert report.simulated == len(report.annotators) == 5 and "simulated" in report.title
    assert "all of" in report.notes[0] and "no people" in report.notes[0]
    for path in made[0].files:
        assert "imulated" in path.read_text(encoding="utf-8")


def test_what_was_planted_is_what_is_told(made):
    first, *found = made[0].lines()
    assert first == "planted: after-ppo is better by 1 standard deviations of what an answer rests on"
    assert len(found) == 9
    # Of nine criteria five are marked by a third of answers and four unmarked by most, so that little is left above.
    assert fmean(one.difference.value for one in made[0].report.people.compared) > 0.1
    assert "simulated-001" in [one.annotator for one in made[0].report.flagged]


@pytest.mark.parametrize("criteria", ["geli", "pairs", "savoir", "turns", "negotiation"])
def test_pages_keep_what_a_simulated_annotator_says(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria, ("base", "ppo"), 4, items_per_annotator=3)
    people = simulated(study, key, {})
    assert visited(people, ("simulated-001", "simulated-002")) == len(gathered(study).people) >= 4
    for row in gathered(study).people:
        said = people.answer(row.annotator, study.items[row.item])
        assert (row.answers, row.reason) == (said.answers, said.reason)
        assert (row.seconds, row.focus_lost, row.revision) == (said.seconds, said.focus_lost, 1)
    # The study's own file lets nobody in by a public link.
    assert not study.settings.public


def test_who_comes_when_all_is_answered_is_turned_away(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", ("base", "ppo"), 4, annotators_per_item=1)
    assert visited(simulated(study, key, {}), ("simulated-001", "simulated-002")) == 4
    assert {row.annotator for row in gathered(study).people} == {"simulated-001"}


def test_a_page_that_is_not_as_it_should_be_ends_the_visit(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", ("base", "ppo"), 4)
    people = simulated(study, key, {})
    with closing(Store.open(None, study)) as store, served_beside(store, entries=1) as address:
        with pytest.raises(VisitError, match=r"simulated-001 cannot go on from /public .* answered 404"):
            Visit(people, "simulated-001", browser_at(f"{address}/", "public")).take_part()
        (link,) = store.add_links(1)
        wrong = replace(people, study=replace(study, criteria=study.criteria.model_copy(update={"criteria": ()})))
        with pytest.raises(VisitError, match=r"a001 cannot go on from /item/1 .* answered 422 at /item/1"):
            Visit(wrong, "a001", browser_at(f"{address}/", f"a/{link.token}")).take_part()


def browser_at(address, path):
    browser = Browser(address)
    browser.get(path)
    return browser
