import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from apportion.study.report.latex import _KNOWN, MOST_ROWS, as_latex, latex_text
from apportion.study.report.make import report_of
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
    layout = r"\\begin\{tabular\}\{(l?c*)(p\{[^}]*\})?\}(.*?)\\end\{tabular\}"
    for columns, broken, body in re.findall(layout, text, re.DOTALL):
        rows = [line[:-2].strip() for line in body.splitlines() if line.endswith(r"\\")]
        cells = [re.split(r"(?<!\\)&", row) for row in rows]
        assert {len(row) for row in cells} == {len(columns) + bool(broken)}
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
        ("été “Łódź” 模", r"été “Łódź” \studyletter{6A21}"),
        ('say "hi"', "say ''hi''"),
    ],
)
def test_text_means_nothing_to_latex(text, latex):
    assert latex_text(text) == latex


def test_a_table_that_is_longer_than_a_page_is_set_in_parts(tmp_path):
    latex = as_latex(replace(long_report(tmp_path), unflagged=None))
    tables = parsed(latex)
    compared = [table for table in tables if table[0][0] == "criterion" and table[0][1] == "system"]
    assert [len(table) - 1 for table in compared] == 2 * [MOST_ROWS, 63 - MOST_ROWS]  # People, and the judge.
    assert compared[0][0] == compared[1][0] and latex.count("Compared to policy-0, continued.}") == 2
    assert r"\label{tab:study-people-3}" in latex and r"\label{tab:study-people-3-2}" in latex


@pytest.mark.parametrize("kind", ["hostile", "long", "pairs", "savoir", "letters"])
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-latex-recommended)")
def test_pdflatex_sets_all_of_it_on_the_page(tmp_path, kind):
    report = {
        "hostile": hostile_report,
        "long": long_report,
        "pairs": lambda folder: small_report(folder, "pairs"),
        "savoir": lambda folder: small_report(folder, "savoir", ("base", "ppo")),
        "letters": lambda folder: small_report(folder, "pairs", ("base", "".join(sorted(_KNOWN)), "模型 Ωế😀 ÞĦ")),
    }[kind](tmp_path)
    (tmp_path / "report.tex").write_text(as_latex(report), encoding="utf-8")
    packages = r"\usepackage{booktabs}\usepackage{graphicx}"
    paper = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{report}}\end{{document}}"
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    log = made.stdout.decode("utf-8", errors="replace")
    assert made.returncode == 0, log[-3000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1_000
    assert not re.findall(r"^Overfull.*|.*Float too large.*|.*Missing character.*", log, re.MULTILINE)


def small_report(folder, criteria, policies=("base", "grpo", "ppo")):
    study, key = made_study(folder / "study", criteria, policies)
    return report_of(study, key, answered(study, key), resamples=50, mixed=False)


def long_report(folder):
    """Of Table 1's systems and criteria, with a judge beside."""
    study, key = made_study(folder / "study", "geli", [f"policy-{number}" for number in range(8)])
    rows = answered(study, key, people=5)
    judged = [replace(row, annotator="judge:some_model") for row in {row.item: row for row in rows}.values()]
    return report_of(study, key, rows, judged, resamples=50, mixed=False)
