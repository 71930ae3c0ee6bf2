"""What strangers bring in, damaged in many ways: no traceback, no hang, and every account adds up."""

import pytest

from tests.fuzz.cases import command_lines, corpora


@pytest.mark.parametrize(("take", "many"), [(corpora, 250), (command_lines, 50)])
def test_what_is_damaged_is_read_or_refused(take, many):
    outcome = take(range(many), 38)
    assert outcome.cases == many and outcome.codes[2]
    assert not outcome.faults, "\n".join(f"== {place}\n{text}" for place, text in outcome.faults.items())
