import re

import pytest

from study.report.latex import as_latex, latex_text
from study.report.make import report_of
from tests.study.made_up import answered, made_study
from tests.study.report.hostile import hostile_report


def parsed(latex):
    """The tables as rows of cells; raises where an environment or a brace is open at the end, or a row is of another
    width than its table."""
    text = re.sub(r"(?<!\\)%.*", "", latex)
    open_, depth = [], 0
    for token in re.findall(r"\\begin\{\w+\}|\\end\{\w+\}|\\.|[{}]", text, re.DOTALL):
        if token.startswith("\\begin"):
            open_.append(token[7:-1])
        elif token.startswith("\\end"):
            assert open_.pop() == token[5:-1]
        elif token in "{}":
            depth += 1 if token == "{" else -1
            assert depth >= 0
    assert (open_, depth) == ([], 0)
    tables = []
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line[:-2].strip() for line in body.splitlines() if line.endswith(r"\\")]
        cells = [re.split(r"(?<!\\)&", row) for row in rows]
        assert {len(row) for row in cells} == {len(columns)}
        tables.append([[cell.strip() for cell in row] for row in cells])
    return tables


def test_every_table_is_whole_whatever_stands_in_it(tmp_path):
    report = hostile_report(tmp_path)
    latex = as_latex(report)
    tables = parsed(latex)
    assert len(tables) == latex.count(r"\toprule") == latex.count(r"\bottomrule") == latex.count(r"\midrule") == 9
    assert r"\input" not in latex and "$x$" not in latex and "<b>" not in latex
    assert latex.count(r"\caption{Simulated annotators, no people.") == 9
    labels = re.findall(r"\\label\{(.*?)\}", latex)
    assert len(set(labels)) == len(labels) == 9


def test_the_figures_are_those_of_the_report(tmp_path):
    study, key = made_study(tmp_path / "study")
    report = report_of(study, key, answered(study, key), resamples=50)
    paper, intervals, *_ = parsed(as_latex(report))
    first = report.people.criteria[0].cells[0]
    assert paper[1][:2] == ["base", rf"{100 * first.splits.mean:.2f} $\pm$ {100 * first.splits.sd:.2f}"]
    assert intervals[1][1] == f"{100 * first.value:.1f} [{100 * first.low:.1f}, {100 * first.high:.1f}]"


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % of a_b & c", r"50 \% of a\_b \& c"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("-0.3 [-1.0, +0.4] to-day", "$-$0.3 [$-$1.0, +0.4] to-day"),
        ("two\nlines \x00", "two lines"),
    ],
)
def test_text_means_nothing_to_latex(text, latex):
    assert latex_text(text) == latex
