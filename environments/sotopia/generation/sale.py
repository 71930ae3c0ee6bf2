"""Scenarios by template: what a sale's two sides aim at (SOTOPIA, C.2, second method)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from apportion.environments.sotopia.generation.inputs import Item
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.foundation.errors import UnitError

RATE = 0.5
"""Of the exponential distribution that the markup ratio is drawn from; its mean is 2."""
SELLER, BUYER = "seller", "buyer"


@dataclass(frozen=True)
class Sale:
    """A thing, and in dollars the seller's and the buyer's ``targets``; their ``limits`` likewise, or none."""

    item: Item
    targets: tuple[float, float]
    limits: tuple[float, ...] = ()

    @property
    def terms(self) -> Terms | None:
        """What rules check: from each side's limit to its target; None where no limits are given."""
        return Terms(OneNumber(self.limits, self.targets)) if self.limits else None


def seller_target(price: float, draws: Random) -> float:
    """The seller's target price: what the thing is offered for, divided by 1 + a markup ratio that is drawn.

    Parameters
    ----------
    price : float
        What it is offered for, in dollars.
    draws : Random
        Gives the ratio: exponential with rate 0.5.

    Returns
    -------
    target : float
        In dollars, to the cent.
    """
    return round(price / (1.0 + draws.expovariate(RATE)), 2)  # C.2: price / (1 + markup ratio)


def sale_of(item: Item, seed: int | str) -> Sale:
    """The sale of an item; ``seed`` and the item decide the draw.

    Raises
    ------
    UnitError
        The seller's target is not above what the seller would never go below.
    """
    draws = Random(f"{seed}/{item.title}/{item.price:g}")
    target = seller_target(item.price, draws)
    if item.seller_least is None or item.buyer_most is None:
        return Sale(item, (target, item.buyer_price))
    if target <= item.seller_least:
        raise UnitError(
            f"the seller's target that was drawn, {dollars(target)}, is not above seller_least "
            f"{dollars(item.seller_least)}. Lower seller_least, or take another seed"
        )
    return Sale(item, (target, item.buyer_price), (item.seller_least, item.buyer_most))


def dollars(value: float) -> str:
    """A price as it stands in a sentence.

    >>> dollars(60.0), dollars(1234.5)
    ('$60', '$1234.50')
    """
    return f"${value:.0f}" if value == int(value) else f"${value:.2f}"
