"""An act as one whole number, so that games are arrays and models have classes.

A split o, what its speaker keeps of each item, is ``25 o0 + 5 o1 + o2``: 125 numbers for 0 to 4 of each. An act is the
split's number for ``propose``, 125 more for ``insist``, and 250 to 252 for ``agree``, ``disagree`` and ``end``; what
one takes at the end is a split's number by itself.
"""

from __future__ import annotations

from functools import lru_cache

from apportion.environments.negotiation.contexts import Counts
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import UnitError

MOST_KEPT = 4
SPLITS = (MOST_KEPT + 1) ** 3
INSIST = SPLITS
AGREE, DISAGREE, END = range(2 * SPLITS, 2 * SPLITS + 3)
ACTS = END + 1
"""How many acts there are: 253."""
KINDS = ("propose", "insist", "agree", "disagree", "end")
WITH_SPLIT = KINDS[:2]
SPLIT_OF: tuple[Counts, ...] = tuple((code // 25, code // 5 % 5, code % 5) for code in range(SPLITS))
"""By number, the split."""
_CODE_OF: dict[tuple[int, ...], int] = {split: code for code, split in enumerate(SPLIT_OF)}


class CodeError(UnitError):
    """Something that is no act or no split."""


def split_code(split: tuple[int, ...]) -> int:
    """The number of a split.

    Raises CodeError: It is not three whole numbers from 0 to 4.

    >>> split_code((1, 0, 2)), SPLIT_OF[27]
    (27, (1, 0, 2))
    """
    code = _CODE_OF.get(split) if all(type(kept) is int for kept in split) else None
    if code is None:
        raise CodeError(f"split {split!r}: it is how many of each of three items are kept, each 0 to {MOST_KEPT}")
    return code


def act_code(kind: str, split: tuple[int, ...] | None = None) -> int:
    """The number of an act.

    Raises CodeError: There is no such kind, or it has no split and needs one, or the other way round.

    >>> act_code("insist", (0, 0, 1)), act_code("end")
    (126, 252)
    """
    if kind not in KINDS:
        raise CodeError(f"no act {kind!r}; {did_you_mean(kind, KINDS, 'allowed: ' + ', '.join(KINDS))}")
    if (split is not None) != (kind in WITH_SPLIT):
        raise CodeError(f"{kind} with split {split!r}: {' and '.join(WITH_SPLIT)} have a split, and no other act has")
    if split is None:
        return AGREE + KINDS.index(kind) - len(WITH_SPLIT)
    return split_code(split) + (INSIST if kind == "insist" else 0)


def act_of(code: int) -> tuple[str, Counts | None]:
    """Kind and split of an act by its number.

    Raises CodeError: No act has this number.

    >>> act_of(126), act_of(250)
    (('insist', (0, 0, 1)), ('agree', None))
    """
    if not 0 <= code < ACTS:
        raise CodeError(f"no act {code}; there are 0 to {ACTS - 1}")
    if code >= AGREE:
        return KINDS[code - AGREE + len(WITH_SPLIT)], None
    return WITH_SPLIT[code // SPLITS], SPLIT_OF[code % SPLITS]


@lru_cache(maxsize=256)
def splits_of(counts: Counts) -> tuple[int, ...]:
    """Numbers of all splits of a pool: from 0 to its count of each item, in the order of the numbers.

    >>> len(splits_of((1, 3, 1)))
    16
    """
    return tuple(code for code, kept in enumerate(SPLIT_OF) if all(k <= n for k, n in zip(kept, counts, strict=True)))


def rest(counts: Counts, code: int) -> int:
    """The number of what a split leaves to the other.

    >>> SPLIT_OF[rest((1, 3, 1), split_code((1, 1, 0)))]
    (0, 2, 1)
    """
    return 25 * counts[0] + 5 * counts[1] + counts[2] - code
