"""What a person who plays CaSiNo's game reads and can type: that of every negotiation, about packages."""

from __future__ import annotations

from apportion.corpus.casino_points import ISSUES
from apportion.environments.negotiation.casino.realization import in_issues, in_items, rules_in_words, values_in_words
from apportion.environments.negotiation.observation import Part
from apportion.environments.negotiation.text_rendering import NegotiationRenderer, split_commands


class CasinoRenderer(NegotiationRenderer):
    """Of what `Casino.facts` gives a seat."""

    items = tuple(issue.lower() for issue in ISSUES)
    acts = split_commands(items)
    such_as = "I take the water and you get the rest"

    def told(self, part: Part) -> tuple[str, str]:
        """The rules, and the person's own order."""
        return rules_in_words(part.names, part.most_acts), values_in_words(part.values)

    def worded(self, text: str) -> str:
        """About packages."""
        return in_issues(text)

    def read(self, text: str) -> str:
        """About items."""
        return in_items(text)
