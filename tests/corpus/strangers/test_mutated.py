"""What strangers bring in, damaged in many ways: no traceback, no hang, and every account adds up."""

import pytest

from benchmarks.strangers import MOST_CPU_S, MOST_MIB, measured
from tests.corpus.strangers.bombs import BOMBS
from tests.fuzz.cases import command_lines, corpora


@pytest.mark.parametrize(("take", "many"), [(corpora, 250), (command_lines, 50)])
def test_what_is_damaged_is_read_or_refused(take, many):
    outcome = take(range(many), 38)
    assert outcome.cases == many and outcome.codes[2]
    assert not outcome.faults, "\n".join(f"== {place}\n{text}" for place, text in outcome.faults.items())


@pytest.mark.slow
@pytest.mark.parametrize("bomb", ["gzip of 3 GiB, chats that differ", "Parquet of 50 million rows, chats"])
def test_a_bomb_is_refused_in_a_line_and_takes_little(bomb, tmp_path):
    code, cpu_s, mib, said = measured(BOMBS[bomb](tmp_path))
    assert (code, len(said)) == (2, 1) and cpu_s < MOST_CPU_S and mib < MOST_MIB, said
