import re

from apportion.study.report.write import as_markdown
from tests.study.report.hostile import SCRIPT, hostile_report


def test_somebody_s_words_mean_nothing_to_markdown(tmp_path):
    text = as_markdown(hostile_report(tmp_path))
    assert SCRIPT not in text and r"\<script\>" in text
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1
    assert len(tables) >= 8 and "**Note.** Simulated annotators" in text
