from __future__ import annotations

import gzip
from itertools import product
from pathlib import Path
from random import Random

import pytest

from apportion.environments.negotiation.contexts import (
    Context,
    all_contexts,
    broken,
    contexts_of,
    draw_context,
    pools,
    read_contexts,
)
from apportion.foundation.errors import InputError
from tests.environments.negotiation.published import published_contexts

GOOD = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (Context((0, 4, 1), ((1, 1, 6), (1, 1, 6))), "there are 0 books; allowed are 1 to 4 of each"),
        (Context((1, 1, 1), ((4, 3, 3), (4, 3, 3))), "3 items in all; allowed are 5 to 7"),
        (Context((1, 3, 1), ((3, 1, 3), (3, 2, 1))), "worth 9 to seat 0; it must be 10"),
        (Context((1, 3, 1), ((3, 1, 4), (3, 2, 2))), "worth 11 to seat 1; it must be 10"),
        (Context((1, 3, 1), ((13, -1, 0), (3, 2, 1))), "a book is worth 13 to seat 0; allowed are 0 to 10"),
        (Context((1, 3, 1), ((10, 0, 0), (7, 1, 0))), "the ball is worth nothing to both"),
        (Context((1, 3, 1), ((10, 0, 0), (0, 3, 1))), "no item is worth something to both"),
        (Context((1, 3, 1), ((3, 1), (3, 2, 1))), "3 items and 2 seats"),
    ],
)
def test_a_broken_constraint_is_named_with_its_value(context: Context, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        context.check()


def test_all_contexts_of_a_pool_are_those_that_meet_the_constraints() -> None:
    counts = (1, 3, 1)
    own = list(product(range(11), repeat=3))
    whole = [values for values in own if sum(n * v for n, v in zip(counts, values, strict=True)) == 10]
    expected = [Context(counts, (a, b)) for a in whole for b in whole]
    assert list(contexts_of(counts)) == [context for context in expected if broken(context) is None]
    assert all(contexts_of(pool) for pool in pools())


def test_a_seed_draws_the_same_context_and_all_pools_come_up() -> None:
    drawn = [draw_context(Random(seed)) for seed in range(2000)]
    assert drawn[:50] == [draw_context(Random(seed)) for seed in range(50)]
    assert {context.counts for context in drawn} == set(pools())
    assert not [problem for context in drawn if (problem := broken(context))]


def test_the_published_contexts_are_read_and_meet_every_constraint() -> None:
    contexts = published_contexts()
    assert len(contexts) == len(set(contexts)) == 4086
    assert set(contexts) < set(all_contexts())
    assert len(all_contexts()) == len(set(all_contexts())) == 5295


def test_a_file_of_contexts_is_read_plain_and_packed(tmp_path: Path) -> None:
    text = "1 3 3 1 1 4\n1 3 3 2 1 1\n"
    (tmp_path / "two.txt").write_text(text)
    (tmp_path / "two.gz").write_bytes(gzip.compress(text.encode()))
    assert read_contexts(tmp_path / "two.txt") == read_contexts(tmp_path / "two.gz") == (GOOD,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 3 3 1 1 4\n", "1 lines; a context is two"),
        ("1 3 3 1 1 4\n1 3 3 2 1\n", "line 2: .* whole numbers"),
        ("1 3 3 1 1 4\n1 3 2 2 2 1\n", "lines 1 and 2: counts .* share one pool"),
        ("1 3 3 1 1 4\n1 3 3 2 1 1\n1 3 3 1 1 5\n1 3 3 2 1 1\n", "lines 3 and 4: everything together is worth 11"),
        ("0 3 3 1 2 4\n0 3 3 2 2 1\n", "lines 1 and 2: there are 0 books"),
    ],
)
def test_a_damaged_file_is_told_by_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "contexts.txt").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_contexts(tmp_path / "contexts.txt")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for name, data in (("none.txt", None), ("torn.gz", b"\x1f\x8b\x08"), ("bad.txt", b"\xff\xfe")):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="not to be read as contexts"):
            read_contexts(tmp_path / name)
