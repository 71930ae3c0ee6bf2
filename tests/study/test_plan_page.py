import re
from html import unescape

import pytest
from click.testing import CliRunner

from apportion.commands.study.power import power_command
from apportion.foundation.tables.numbers import fixed
from apportion.study.planning import Plan, as_page, planned
from apportion.study.power import power
from tests.behaviour.command import in_process


@pytest.fixture(scope="module")
def found():
    return planned(Plan(differences=(10.0, -4.0)))


def test_figures_are_those_of_the_plan(found):
    html = unescape(as_page(found))
    assert found.size in html and found.assumed in html and found.least[1:] in html
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", html)
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows]
    assert cells[:2] == [row[1:] for row in found.rows[1:]]
    assert [re.sub("<.*?>", "", row.partition("</th>")[0]) for row in rows[2:]] == [
        "annotators",
        "+10 points",
        "−4 points",
    ]
    assert cells[2] == ["15", "30", "60", "120", "240"]
    for told, row in zip(found.differences, cells[3:], strict=True):
        sizes = [found.design.with_items(items) for items in (50, 100, 200, 400, 800)]
        expected = [power(size, told.difference / 100, told.variances).corrected for size in sizes]
        assert row == [fixed(one, 2) for one in expected]
        assert row[1] == fixed(told.power.corrected, 2)
    assert "50 items" in html and "800 items" in html


def test_a_curve_a_difference_and_no_script(found):
    html = as_page(found)
    assert len(re.findall(r'class="m\d curve"', html)) == 2
    assert "<script" not in html and " style=" not in html and "http" not in html.replace("http-equiv", "")


def test_ratings_are_told_in_steps():
    html = as_page(planned(Plan(sd=1.0, differences=(0.5,), systems=2, criteria=1)))
    assert "+0.5 steps" in html and "0.5 points" not in html


def test_a_size_that_finds_nothing_says_so():
    found = planned(Plan(items=4, annotators=3, differences=(5.0,)))
    assert found.smallest is None and "none" not in found.text()
    assert "no difference that can be is told with a power of 0.8" in found.text()
    assert "No difference that can be is told" in as_page(found)


def test_the_command_writes_it(tmp_path, monkeypatch):
    done = CliRunner().invoke(power_command, ["--difference", "10", "--page", str(tmp_path / "power.html")])
    assert done.exit_code == 0 and f"wrote {tmp_path / 'power.html'}" in done.output
    assert "How large a study has to be" in (tmp_path / "power.html").read_text()
    refused = in_process(monkeypatch, "study", "power", "--page", "power.txt")
    assert refused.returncode == 2 and "a page's name ends in .html" in refused.stderr
