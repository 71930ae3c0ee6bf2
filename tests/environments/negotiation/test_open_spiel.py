"""Random games of offers and agreement beside open_spiel's `bargaining`, where that is installed."""

from __future__ import annotations

import pytest

from benchmarks.negotiation_peer import bargaining, compared
from tests.environments.negotiation.published import published_contexts


def test_random_games_have_the_same_offers_ends_and_points() -> None:
    pytest.importorskip(
        "pyspiel",
        reason="open_spiel is in no environment of ours: benchmarks/negotiation_peer.py says how to install it apart",
    )
    contexts = published_contexts()
    result = compared(contexts, bargaining(contexts), 2 * len(contexts))
    assert result["equal"]
    assert result["agreements"] > 1000
