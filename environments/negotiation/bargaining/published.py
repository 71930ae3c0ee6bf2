"""The products of AmazonHistoryPrice (Xia et al., 2024) as bargains: real prices of 930 products in 18 categories.

As in the released code the list price is the higher one of the list price and the highest price that the product ever
had, the seller's cost is the lowest, and the buyer's budget is 0.8 of the former. Prices are rounded to whole dollars.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.environments.negotiation.bargaining.scenario import LEAST_SURPLUS, Bargain, as_lines
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, write_atomically

BUDGET = 0.8
"""In parts of the list price, as in the released runs."""
LICENCE = (
    "The benchmark is published under the Apache-2.0 licence (github.com/TianXiaSJTU/AmazonPriceHistory); titles and "
    "prices come from Amazon by way of camelcamelcamel.com, of whose terms the licence does not speak: read them "
    "before you pass the file on"
)
CONFLICTING = "the cost is no less than the budget: no price suits both, which our game does not play"
THIN = f"in whole dollars the budget lies less than {LEAST_SURPLUS:.0%} of the list price above the cost"
OUT_OF_RANGE = "a price that our game does not have"
_FIELDS = ("title", "list_price", "highest_price", "lowest_price")


@dataclass(frozen=True)
class Imported:
    """What came of it: bargains, the numbers of products by why they are none, and damaged ones by name."""

    bargains: tuple[Bargain, ...]
    left_out: dict[str, int]
    damaged: tuple[str, ...]

    @property
    def products(self) -> int:
        """All that were read."""
        return len(self.bargains) + sum(self.left_out.values()) + len(self.damaged)


def import_products(source: Path, out: Path, budget: float = BUDGET) -> Imported:
    """Read a checkout, or its folder ``data/AmazonHistoryPrice``, and write a file of bargains.

    Raises InputError: A budget that is no part of a price, no such folder, a file that is no list of products, no
    product that can be bargained about, or a file that cannot be written.
    """
    if not 0 < budget <= 1:
        raise InputError(f"budget = {budget}: a part of the list price, above 0 and at most 1 (published: {BUDGET})")
    for path in (source, out):
        check_path(path)
    bargains, left_out, damaged = [], Counter[str](), []
    for name, product in _products(source):
        try:
            found = _bargain(product, budget)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            damaged.append(f"{name}: {type(error).__name__} {error}")
            continue
        if isinstance(found, Bargain):
            bargains.append(found)
        else:
            left_out[found] += 1
    if not bargains:
        raise InputError(f"{source}: no product can be bargained about ({dict(left_out)}, damaged: {len(damaged)})")
    try:
        write_atomically(out, as_lines(bargains))
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); name another file") from None
    return Imported(tuple(bargains), dict(left_out), tuple(damaged))


def _products(source: Path) -> list[tuple[str, Any]]:
    inside = source / "data" / "AmazonHistoryPrice"
    folder = inside if inside.is_dir() else source
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise InputError(
            f"{source}: holds no category (NAME.json); give a checkout of AmazonPriceHistory, or its folder "
            "data/AmazonHistoryPrice"
        )
    found: list[tuple[str, Any]] = []
    for path in files:
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: not to be read as products ({error})") from None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{path}: no list of products with {', '.join(_FIELDS)}")
        found += [(f"{path.name} {number}", row) for number, row in enumerate(rows, 1)]
    return found


def _bargain(product: dict[str, Any], budget: float) -> Bargain | str:
    """A product's bargain, or why there is none; raises where it is damaged."""
    title = " ".join(product["title"].split())
    usual, highest, lowest = (_dollars(product[name]) for name in _FIELDS[1:])
    price = max(usual, highest)
    whole, most, cost = round(price), round(budget * price), round(lowest)
    if lowest >= budget * price:
        return CONFLICTING
    if most - cost < LEAST_SURPLUS * whole:
        return THIN
    try:
        return Bargain(title, whole, most, cost)
    except InputError:
        return OUT_OF_RANGE


def _dollars(text: str) -> float:
    """A price as it is published (``$1,299.00``)."""
    value = float(text.removeprefix("$").replace(",", ""))
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text!r} is no price")
    return value
