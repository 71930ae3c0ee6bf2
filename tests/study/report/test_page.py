import base64
import hashlib
import re

import pytest

from apportion.study.report.grids import annotator_grid, interval_grids, paper_grids
from apportion.study.report.make import report_of
from apportion.study.report.page import as_html
from tests.study.made_up import answered, made_study
from tests.study.report.hostile import SCRIPT, hostile_report


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return hostile_report(tmp_path_factory.mktemp("hostile"))


def test_what_looks_like_markup_stays_text(hostile):
    html = as_html(hostile)
    assert SCRIPT not in html and "<b>\\input" not in html and "&lt;script&gt;" in html
    assert re.findall(r"<(?:script|img|iframe|object|link|a href=\"http)", html) == []
    assert "\x00" not in html and "\u202e" not in html


def test_the_page_is_one_file_whose_policy_allows_its_own_style_alone(hostile):
    html = as_html(hostile)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{allowed}'" in html
    assert " style=" not in html and "http" not in html.replace("http-equiv", "")
    assert html.startswith("<!doctype html>")


def test_every_table_and_plot_is_there(hostile):
    html = as_html(hostile)
    assert html.count('class="chart forest"') == 27  # Nine criteria: of all, of the unflagged, of the judge.
    for title in (
        "As the paper tells it",
        "With intervals",
        "Compared",
        "Annotators",
        "Without the flagged",
        "A judge",
    ):
        assert title in html
    (grid,) = interval_grids(hostile.people)
    figure = grid.rows[0][1].partition(" [")
    assert f"<td>{figure[0]} <small>[{figure[2]}</small></td>" in html
    (paper,) = paper_grids(hostile.people)
    mean, _, sd = paper.rows[0][1].partition(" ± ")
    assert f"<td>{mean} <small>± {sd}</small></td>" in html
    assert annotator_grid(hostile).rows[0][-1] in html
    assert as_html(hostile) == html


def test_a_study_that_only_a_judge_has_answered(tmp_path):
    study, key = made_study(tmp_path / "study")
    judged = {row.item: row for row in answered(study, key)}.values()
    html = as_html(report_of(study, key, [], judged, resamples=20))
    assert "No person has answered." in html and "A judge beside" in html
