import xml.etree.ElementTree as ElementTree

import pytest

from apportion.study.report.forest import LEFT, RIGHT, WIDTH, forests
from apportion.study.report.make import report_of
from tests.study.made_up import answered, made_study


@pytest.mark.parametrize("criteria", ["geli", "pairs", "negotiation"])
def test_points_lie_within_their_intervals_and_all_in_the_frame(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria, contexts=20, items_per_annotator=20)
    report = report_of(study, key, answered(study, key, people=9, effects={"ppo": 1.5}), resamples=50, mixed=False)
    plots = forests(report.people, report.base, report.colours)
    assert [plot.criterion for plot in plots] == [one.criterion for one in report.people.criteria]
    for plot in plots:
        root = ElementTree.fromstring(str(plot.svg))
        groups = root.findall("g")
        assert len(groups) == 2 and "95 % intervals" in plot.caption
        for group in groups:
            whisker, point = group.findall("path")
            low, _, high = whisker.get("d")[1:].partition("H")
            low, x, high = float(low.split()[0]), float(point.get("d")[1:].split()[0]), float(high)
            assert LEFT <= low <= x <= high <= WIDTH - RIGHT


def test_a_filled_diamond_is_what_the_correction_leaves(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", contexts=20, items_per_annotator=20)
    report = report_of(study, key, answered(study, key, people=9, effects={"ppo": 2.5}), resamples=50, mixed=False)
    (plot,) = forests(report.people, report.base, report.colours)
    drawn = [group.findall("path")[-1].get("class") for group in ElementTree.fromstring(str(plot.svg)).findall("g")]
    told = [report.people.difference("better", system).p_holm < 0.05 for system in ("grpo", "ppo")]
    assert drawn == ["clear" if clear else "open" for clear in told] and told[1]


def test_nothing_compared_is_no_plot(tmp_path):
    study, key = made_study(tmp_path / "study", "turns")
    report = report_of(study, key, answered(study, key), resamples=20)
    assert forests(report.people, report.base, report.colours) == []
