"""What is sold, what it may cost whom, and what each price is worth to both, exactly.

The task of AmazonHistoryPrice, as the Stackelberg Speaker's appendix G tells it: a buyer wants to pay less than a
budget, a seller wants more than a cost, and both know the list price. Products and prices here are our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.foundation.errors import InputError

BUYER, SELLER = 0, 1
"""The seats."""
MOST_PRICE = 1_000_000
LEAST_SURPLUS = 0.1
"""Of the list price: by how much a budget lies above a cost at least, so that parts of it have one scale."""
THINGS = {
    "a kettle": 40, "a desk lamp": 60, "a backpack": 90, "a set of pans": 120, "an office chair": 180,
    "a vacuum cleaner": 250, "a tent": 300, "a bicycle": 450, "a camera": 600, "a sofa": 900,
}  # fmt: skip
"""List prices, in whole units of money."""


@dataclass(frozen=True)
class Bargain:
    """One thing that is sold.

    ``thing``: What it is, for both. ``list_price``: What it is sold for elsewhere; both know it, and nobody offers
    more. ``budget``: The buyer's: beyond it the buyer loses. ``cost``: The seller's: below it the seller loses. Below
    the budget, so that some prices are good for both. Raises InputError: A value that cannot be; the text names it.

    >>> Bargain("a kettle", 40, 36, 20).profits(30)
    (6, 10)
    """

    thing: str
    list_price: int
    budget: int
    cost: int

    def __post_init__(self) -> None:
        if not self.thing.strip():
            raise InputError("thing: empty; say what is sold")
        if not 1 <= self.list_price <= MOST_PRICE:
            raise InputError(f"list_price = {self.list_price}: whole units of money, 1 to {MOST_PRICE:,}")
        if not 0 <= self.cost < self.budget <= self.list_price:
            raise InputError(
                f"cost = {self.cost}, budget = {self.budget}, list_price = {self.list_price}: the cost has to be 0 or "
                "more and below the budget, and the budget not above the list price"
            )
        if self.surplus < LEAST_SURPLUS * self.list_price:
            raise InputError(
                f"cost = {self.cost}, budget = {self.budget}: the budget has to lie {LEAST_SURPLUS:.0%} of the list "
                f"price ({self.list_price}) above the cost, or more"
            )

    @property
    def surplus(self) -> int:
        """What both gain together by any deal."""
        return self.budget - self.cost

    def profits(self, price: int) -> tuple[int, int]:
        """What the buyer and the seller gain by a price; less than nothing beyond a limit."""
        return self.budget - price, price - self.cost


def draw_bargain(draws: Random) -> Bargain:
    """A thing, a list price near its usual one, a budget of 70 to 100 % of it and a cost of 30 to 55 %."""
    thing, usual = draws.choice(list(THINGS.items()))
    list_price = round(usual * draws.uniform(0.8, 1.2))
    return Bargain(
        thing, list_price, round(list_price * draws.uniform(0.7, 1.0)), round(list_price * draws.uniform(0.3, 0.55))
    )


FIELDS = tuple(field.name for field in fields(Bargain))


def read_bargains(path: Path) -> tuple[Bargain, ...]:
    """The bargains of a file, in its order; fields beside ``thing``, ``list_price``, ``budget``, ``cost`` are not read.

    Raises InputError: The file cannot be read, is empty, or a line is no bargain; named by its number.
    """
    found = tuple(_bargain(path, number, row) for number, row in read_jsonl(path, allow_empty=True))
    if not found:
        raise InputError(f"{path}: holds no bargain; a line is {json.dumps(dict.fromkeys(FIELDS, '…'))}")
    return found


def as_lines(bargains: Iterable[Bargain]) -> str:
    """The same file's text."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in bargains)


def _bargain(path: Path, number: int, row: Mapping[str, Any]) -> Bargain:
    try:
        thing, *prices = (row[name] for name in FIELDS)
        if not isinstance(thing, str) or any(type(price) is not int for price in prices):
            raise ValueError("thing is text, list_price, budget and cost are whole numbers")
        return Bargain(thing, *prices)
    except KeyError as error:
        raise InputError(f"{path}, line {number}: no {error}; a bargain has {', '.join(FIELDS)}") from None
    except (ValueError, InputError) as error:
        raise InputError(f"{path}, line {number}: no bargain ({error}): {row!r:.120}") from None
