"""Small games for tests of what every environment shares."""

from typing import ClassVar

from apportion.environments.environment import Action, Environment, Step


class Countdown(Environment):
    """Players take 1 to 3 from a pile that is drawn, or pass; who takes the last one has 1 point."""

    kind: ClassVar[str] = "countdown"

    def _begin(self) -> None:
        self.pile = self.chance.draws.randint(5, 15)
        self.last: str | None = None

    def acting(self) -> tuple[str, ...]:
        return (self.agents[len(self.steps) % len(self.agents)],) if self.pile else ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("take", "pass")

    def examples(self, agent: str) -> dict[str, list[str]]:
        return {"take": ["1", "2", "3"]}

    def legal(self, agent: str) -> tuple[str, ...]:
        return ("take", "pass") if agent in self.acting() else ()

    def observe(self, agent: str) -> str:
        return f"{self.pile} are left"

    def outcome(self) -> dict[str, dict[str, float | None]]:
        return {agent: {"points": float(agent == self.last), "style": None} for agent in self.agents}

    def scales(self) -> dict[str, tuple[float, float]]:
        return {"points": (0.0, 1.0), "style": (0.0, 1.0)}

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        return [(None, "rules", "take 1 to 3"), (self.agents[0], "goal", "win")]

    def _apply(self, moves: Step) -> None:
        for agent, act in moves:
            if act.kind == "take":
                self.pile = max(0, self.pile - int(act.text))
                self.last = agent


class Matching(Environment):
    """Both show a side at once; three rounds."""

    kind: ClassVar[str] = "matching"

    def acting(self) -> tuple[str, ...]:
        return self.agents if len(self.steps) < 3 else ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("show",)

    def legal(self, agent: str) -> tuple[str, ...]:
        return ("show",) if agent in self.acting() else ()

    def observe(self, agent: str) -> str:
        return f"round {len(self.steps)}"

    def outcome(self) -> dict[str, dict[str, float | None]]:
        same = sum(len({act.text for _, act in moves}) == 1 for moves in self.steps)
        return {agent: {"same": float(same)} for agent in self.agents}

    def _apply(self, moves: Step) -> None:
        pass


def take(number: int) -> Action:
    """Take that many."""
    return Action("take", str(number))
