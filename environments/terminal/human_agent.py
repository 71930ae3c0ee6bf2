"""A person at a terminal, who acts when it is their turn and sees what their view holds, and nothing else."""

from __future__ import annotations

from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.commands import AGAIN, HELP, listed, read_line
from apportion.environments.terminal.console import LineError, Screen
from apportion.environments.terminal.prompts import Renderer

WAITING = "(the others act …)"


class HumanAgent:
    """An agent of any environment; its acts are on the disk before they are used, and are never asked for twice.

    Between steps it keeps what is on the screen, and nothing that an act depends on: started anew, it shows again all
    that the person may know.

    Parameters
    ----------
    screen : Screen
        Where the person reads and types.
    telling : Telling
        How the environment is told.
    called : str
        What the person is called in logs and corpora.
    """

    paid = True

    def __init__(self, screen: Screen, telling: Renderer, called: str = "person") -> None:
        self.called = called
        self._screen, self._telling = screen, telling
        self._opened = self._typed = False
        self._shown = 0

    def act(self, view: Observation) -> Action:
        """What the person does: shows what is new, and asks until a line means something that is allowed.

        Raises
        ------
        EOFError
            The person stops here, or the input has ended.
        """
        self._tell(view)
        while True:
            commands, plain = self._telling.commands(view), self._telling.plain(view)
            try:
                meant = read_line(self._screen.ask(self._telling.prompt(view)), commands, plain)
                if isinstance(meant, Action):
                    meant = self._telling.understood(view, meant)
            except LineError as error:
                self._screen.show("! ", str(error))
                continue
            if isinstance(meant, Action):
                problem = view.problem(meant)
                if problem is None:
                    self._typed = True
                    self._screen.wait(WAITING)
                    return meant
                self._screen.show("! ", problem)
            elif meant == HELP:
                for name, meaning in listed(commands, plain):
                    self._screen.show(f"  {name}: ", meaning)
            elif meant == AGAIN:
                self._opened, self._typed, self._shown = False, False, 0
                self._tell(view)
            else:
                raise EOFError("the person stops")

    def see_the_beginning(self, view: Observation) -> None:
        """Show what is known from before the first act, so that the person reads while others act."""
        self._open(view)
        self._screen.wait(WAITING)

    def see_the_end(self, view: Observation) -> None:
        """Show what was done after the person's last act."""
        self._tell(view)
        self._screen.done_waiting()

    def _open(self, view: Observation) -> None:
        if not self._opened:
            for told in self._telling.opening(view):
                self._screen.show(told.label, told.text)
            self._screen.show("")
            self._opened = True

    def _tell(self, view: Observation) -> None:
        self._open(view)
        events = self._telling.events(view)
        for told in events[self._shown :]:
            if told.own and self._typed:
                self._typed = False
            elif told.label or told.text:
                self._screen.show(told.label, told.text)
        self._shown = len(events)
