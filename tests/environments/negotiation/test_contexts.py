import gzip
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given

from apportion.environments.negotiation.action_encoding import (
    ACTS,
    SPLIT_OF,
    SPLITS,
    CodeError,
    act_code,
    act_of,
    split_code,
)
from apportion.environments.negotiation.contexts import (
    Context,
    all_contexts,
    broken,
    contexts_of,
    pools,
    read_contexts,
)
from apportion.environments.negotiation.pareto import solve
from apportion.foundation.errors import InputError
from tests.environments.negotiation.published import published_contexts
from tests.environments.negotiation.strategies import CONTEXTS

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
    for name, data, words in (
        ("none.txt", None, "no such file"),
        ("torn.gz", b"\x1f\x8b\x08", "damaged or truncated gzip"),
        ("bad.txt", b"\xff\xfe", "not to be read as contexts"),
    ):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=words):
            read_contexts(tmp_path / name)


def by_brute_force(context: Context) -> dict[int, tuple[int, int]]:
    """Points of both by what seat 0 takes, from the counts alone."""
    points = {}
    for kept in product(*(range(count + 1) for count in context.counts)):
        mine = sum(k * v for k, v in zip(kept, context.values[0], strict=True))
        left = [n - k for n, k in zip(context.counts, kept, strict=True)]
        points[split_code(kept)] = (mine, sum(k * v for k, v in zip(left, context.values[1], strict=True)))
    return points


def dominated(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] >= one[0] and other[1] >= one[1] and other != one


def solved(context: Context) -> tuple[object, ...]:
    """What `solve` says: points, front (listed, and asked about each deal), joint maximum."""
    found = solve(context)
    pareto = {deal for deal in found.points if found.pareto(deal)}
    return found.points, set(found.front), pareto, found.joint


def enumerated(context: Context) -> tuple[object, ...]:
    """The same from every deal beside every other."""
    points = by_brute_force(context)
    front = {deal for deal, worth in points.items() if not any(dominated(worth, other) for other in points.values())}
    return points, front, front, max(map(sum, points.values()))


@given(CONTEXTS)
def test_the_front_is_what_brute_force_finds(context: Context) -> None:
    assert solved(context) == enumerated(context)


def test_the_front_of_every_published_context_is_what_brute_force_finds() -> None:
    for context in published_contexts():
        assert solved(context) == enumerated(context)


def test_every_act_has_a_number_of_its_own() -> None:
    acts = [act_of(code) for code in range(ACTS)]
    assert [act_code(kind, split) for kind, split in acts] == list(range(ACTS))
    assert len(set(acts)) == ACTS == 253
    assert [split_code(split) for split in SPLIT_OF] == list(range(SPLITS))


@pytest.mark.parametrize("split", [(1, 2), (5, 0, 0), (-1, 0, 0), (0.5, 0, 0)])
def test_what_is_no_split_has_no_number(split: tuple[int, int, int]) -> None:
    with pytest.raises(CodeError, match="each 0 to 4"):
        split_code(split)


def test_what_is_no_act_has_no_number() -> None:
    with pytest.raises(CodeError, match="no act 'propos'; did you mean 'propose'"):
        act_code("propos", (0, 0, 0))
    with pytest.raises(CodeError, match="insist with split None"):
        act_code("insist")
    with pytest.raises(CodeError, match="end with split"):
        act_code("end", (0, 0, 0))
    for code in (-1, ACTS):
        with pytest.raises(CodeError, match=f"no act {code}"):
            act_of(code)
