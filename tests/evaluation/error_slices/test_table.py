from dataclasses import replace

import pytest

from apportion.evaluation.error_slices.find import find_slices
from apportion.evaluation.error_slices.result import HEADER, ErrorSlices, SliceSettings, markdown, row, summary, told_by
from tests.evaluation.error_slices.planted import corpus


@pytest.fixture(scope="module")
def found() -> ErrorSlices:
    turns, _ = corpus(0, sessions=300, cost=1.0)
    return find_slices(turns, "reaction", SliceSettings(resamples=200))


def test_every_kind_has_a_line_with_its_interval_share_and_examples(found):
    text = markdown(found)
    for kind in found.kinds:
        cells = row(kind)
        assert len(cells) == len(HEADER)
        assert cells[2].startswith(("-", "+")) and "[" in cells[2] and cells[4].count("%") == 3
        assert all(example.id.episode[0] in text for example in kind.examples)
    assert f"{len(found.kinds)} of them held in the other 150." in summary(found)


def test_what_people_said_means_nothing_to_markdown(found):
    evil = replace(found.kinds[0].examples[0], text="<script>alert(1)</script> | `x`\n# y")
    kind = replace(found.kinds[0], examples=(evil,), name="a|b <img>")
    text = markdown(replace(found, kinds=(kind,), method="<b>"))
    assert "<script>" not in text.replace("\\<script\\>", "") and "\n# y" not in text
    assert r"a\|b \<img\>" in text and r"by \<b\>" in text


def test_nothing_found_and_nothing_to_be_said(found):
    assert "none of them held" in markdown(replace(found, kinds=()))
    assert markdown(replace(found, kinds=(), reason="too few")).endswith("Nothing can be said: too few.\n")


def test_how_well_a_name_tells_its_kind(found):
    kind = replace(found.kinds[0], named=0.875, named_elsewhere=0.04, mostly=("asks a question",))
    assert told_by(kind) == ("88% of its turns hold one of these words, 4% of all others; mostly: asks a question")
    assert told_by(replace(kind, named=None, mostly=())) == ""
