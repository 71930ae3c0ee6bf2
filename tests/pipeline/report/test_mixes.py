"""What the sources of a mix weigh, on the page."""

from __future__ import annotations

import pyarrow as pa

from apportion.pipeline.report.page import mixes, render_report
from tests.pipeline.report_inputs import made_up_inputs, made_up_sources


def test_a_source_s_weight_interval_and_reason_stand_on_the_page() -> None:
    page = render_report(made_up_inputs())
    section = page[page.index("What each source weighs") :]
    section = section[: section.index("</section>")]
    assert "0.720 <small>[0.610, 0.850]</small>" in section and "−0.010 <small>[−0.050, 0.020]</small>" in section
    assert "is held back: its larger values go with lower scores" in section
    assert "&lt;b&gt;prior" in section and "<b>prior" not in section
    assert '<a href="#sources">' in page


def test_without_a_mix_there_is_no_such_section() -> None:
    assert mixes(None) == []
    assert "What each source weighs" not in render_report(made_up_inputs(changes={"sources": None}))


def test_seeds_that_say_the_same_are_shown_once() -> None:
    one = made_up_sources()
    place = one.schema.get_field_index("seed")
    again = one.set_column(place, one.schema.field(place), pa.array([1] * len(one), pa.int32()))
    assert [mix.title for mix in mixes(pa.concat_tables([one, again]))] == ["Sources of mix"]
    other = again.slice(0, 3)
    assert [mix.title for mix in mixes(pa.concat_tables([one, other]))] == [
        "Sources of mix, seed 0",
        "Sources of mix, seed 1",
    ]
    assert "[" not in mixes(one)[0].rows[3][2]
