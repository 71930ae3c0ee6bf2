"""CaSiNo's game as an environment: a negotiation in which no deal is walking away, which is worth something."""

from __future__ import annotations

from typing import ClassVar

from apportion.corpus.casino_points import MOST, WALKED_AWAY
from apportion.environments.environment import Action, AgentAction, InvalidActionError
from apportion.environments.negotiation.casino.contexts import check
from apportion.environments.negotiation.casino.realization import in_issues, in_items, rules_in_words, values_in_words
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.observation import SELECT, in_text


class Casino(Negotiation):
    """One game; acts, turns and selections are those of `Negotiation`.

    ``context``: Who wants what. ``most_acts``: After which both select. ``names``: Who sits in seat 0 and in seat 1.
    Raises InputError: Another pool or other values, no act at all, or names that cannot be used.
    """

    kind: ClassVar[str] = "casino"

    def observe(self, agent: str) -> str:
        """The rules, the agent's own values, and what was done."""
        part = self.part(agent)
        told = (
            rules_in_words(part.names, self.most_acts),
            f"You are {agent}. To you, {values_in_words(part.values)}.",
        )
        return in_text(part, self.heard, self.legal(agent), told=told, worded=in_issues)

    def scales(self) -> dict[str, tuple[float, float]]:
        """Points from 0 to 36."""
        return {"points": (0.0, float(MOST)), "advantage": (-float(MOST), float(MOST))}

    def in_words(self, agent: str, kind: str, text: str) -> Action:
        """As in `Negotiation`; the words are about the three issues."""
        return super().in_words(agent, kind, in_items(text))._replace(text=text)

    def meant(self, agent: str, text: str) -> Action:
        """As in `Negotiation`; the words are about the three issues."""
        act = super().meant(agent, in_items(text))
        return act._replace(text=in_issues(act.text))

    def said(self, move: AgentAction) -> str | None:
        """An act's words, with the act in brackets where they do not say it; a selection is heard by nobody."""
        if move.act.kind == SELECT:
            return None
        words = move.act.text.strip()
        plain = in_issues(super().said(move._replace(act=move.act._replace(text=""))) or "")
        if not words:
            return plain
        read = move._replace(act=move.act._replace(text=in_items(words)))
        return words if super().said(read) == in_items(words) else f"{words} [{plain}]"

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """The rules for both; what things are worth to it for each agent alone."""
        rows: list[tuple[str | None, str, str]] = [
            (None, "rules", rules_in_words((self.agents[0], self.agents[1]), self.most_acts))
        ]
        for name, values in zip(self.agents, self.context.values, strict=True):
            rows.append((name, "goal", f"As many points as possible: to {name}, {values_in_words(values)}."))
        return rows

    def _plain(self, code: int) -> str:
        return in_issues(super()._plain(code))

    def _check_context(self) -> None:
        check(self.context)

    def _check(self, agent: str, act: Action) -> None:
        try:
            super()._check(agent, act)
        except InvalidActionError as error:
            raise InvalidActionError(in_issues(str(error))) from None

    def _points(self) -> tuple[int, int]:
        dealt = self.game.agreed if self.game.over else self.game.settled
        return super()._points() if dealt else (WALKED_AWAY, WALKED_AWAY)
