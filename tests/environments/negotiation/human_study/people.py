"""Somebody who takes part in a study: types what a person would, whatever is asked."""

from collections.abc import Callable

from apportion.environments.negotiation.human_study.survey import QUIZ
from apportion.environments.terminal.console import Screen

Answers = Callable[[str], str]


class Participant:
    """Answers questions by what stands on the screen; ``stop_after`` so many lines the input ends."""

    def __init__(self, rating: str = "4", stop_after: int | None = None, consents: str = "yes") -> None:
        self.shown: list[str] = []
        self.typed: list[str] = []
        self._rating, self._left, self._consents = rating, stop_after, consents
        self.screen = Screen(self._ask, self.shown.append, width=lambda: 10_000)

    @property
    def text(self) -> str:
        return "".join(self.shown)

    def _ask(self, prompt: str) -> str:
        if self._left is not None:
            if self._left == 0:
                raise EOFError
            self._left -= 1
        line = self._line(prompt)
        self.shown.append(f"{prompt}{line}\n")
        self.typed.append(line)
        return line

    def _line(self, prompt: str) -> str:
        if prompt.startswith("act "):
            agreed = "#" in self.text.rsplit("=====", 1)[-1] and "agreed. " in self.text.rsplit("#", 1)[-1]
            if agreed:
                return "/end"
            return "/propose 0 1 0" if prompt.startswith(("act 1 ", "act 2 ")) else "/agree"
        if prompt.startswith("take"):
            return "/take 0 1 0" if "nothing" in prompt else "/take"
        if prompt.startswith("1 to 5"):
            return self._rating
        if "Any comments?" in self.text.rsplit("\n", 2)[-2]:
            return "<b>fun</b>"
        for question in QUIZ:
            if question.text in "".join(self.shown[-len(question.choices) - 1 :]):
                return str(question.right + 1)
        return self._consents
