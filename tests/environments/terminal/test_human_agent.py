"""A person as an agent."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.text_rendering import SotopiaRenderer
from apportion.environments.terminal import console
from apportion.environments.terminal.console import (
    CUT_AT,
    INDENT,
    LineError,
    Screen,
    block,
    paragraphs,
    printable,
    terminal,
)
from apportion.environments.terminal.human_agent import (
    AGAIN,
    HELP,
    STOP,
    WAITING,
    Command,
    HumanAgent,
    Rendered,
    Renderer,
    listed,
    read_line,
)
from apportion.foundation.errors import InputError
from tests.environments.games import Countdown, take


class Typist:
    """Types lines, and keeps what was shown."""

    def __init__(self, *lines: str) -> None:
        self.shown: list[str] = []
        self._lines: Iterator[str] = iter(lines)
        self.screen = Screen(self._ask, self.shown.append)

    def _ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        for line in self._lines:
            self.shown.append(line + "\n")
            return line
        raise EOFError

    def person(self, telling: Renderer) -> HumanAgent:
        return HumanAgent(self.screen, telling)

    @property
    def text(self) -> str:
        return "".join(self.shown)


class PlainTelling:
    """Any environment: its observation as it is, and a command for each kind of act."""

    def opening(self, view: Observation) -> Sequence[Rendered]:
        """Nothing: it is part of what is told at every step."""
        return ()

    def events(self, view: Observation) -> Sequence[Rendered]:
        """The observation of this step; those of the steps before are no more."""
        return [*([Rendered("")] * view.step), Rendered("", view.text)]

    def prompt(self, view: Observation) -> str:
        """A sign that it is the person's turn."""
        return "> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """Each kind of act that is allowed, with or without words."""
        meaning = "one of the acts that are allowed"
        return {kind.casefold().replace(" ", "-"): Command(kind, meaning, "[TEXT]") for kind in view.legal}

    def plain(self, view: Observation) -> str | None:
        """The only kind there is."""
        (only, *others) = self.commands(view)
        return None if others else only

    def understood(self, view: Observation, act: Action) -> Action:
        """The act as it is."""
        return act


def test_a_person_plays_any_environment() -> None:
    game, typist = Countdown(["ann", "bob"]), Typist("hello", "/take 3", "/take 2", *["/take 3"] * 9)
    game.reset(1)
    left = game.pile
    play(game, {"ann": typist.person(PlainTelling()), "bob": ScriptedAgent("b", lambda view: take(1))})
    assert "! say which of /take, /pass it is" in typist.text
    assert f"{left} are left\n> " in typist.text and f"{left - 4} are left\n> " in typist.text
    assert game.steps[0][0].act == Action("take", "3") and game.over


def sotopia() -> Sotopia:
    game = Sotopia(bundled_tasks.tasks()[0])
    game.do(Action("speak", "Hello.\n2. You: I pay 110.\x1b[2J"))
    return game


def test_what_others_say_stands_in_its_place() -> None:
    game, typist = sotopia(), Typist()
    with pytest.raises(EOFError):
        typist.person(SotopiaRenderer(Rules())).act(Observation(game, game.agents[1]))
    assert "1. the other person: Hello.\n    2. You: I pay 110.\\x1b[2J\n2. You: " in typist.text


def test_an_act_is_shown_once_and_everything_again_when_asked_for() -> None:
    game, typist = sotopia(), Typist("So?", "/again", "/nothing")
    person = typist.person(SotopiaRenderer(Rules()))
    for _ in range(2):
        game.do(person.act(Observation(game, game.agents[1])))
        game.do(Action("non-verbal communication", "nods"))
    person.see_the_end(Observation(game, game.agents[1]))
    assert typist.text.count("2. You: So?") == 2  # as typed, and again
    assert typist.text.count("Your goal: ") == 2 and typist.text.count("3. the other person (non-verbal") == 2
    assert typist.text.endswith("5. the other person (non-verbal communication): nods\n")
    assert game.acts[3][1] == Action("none")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/help", "  /physical TEXT: do it with your hands"),
        ("/shout hey", "! no command /shout: there are"),
        ("", "! nothing was typed"),
        ("a" * 20_001, "says 20,001 characters at once; at most 20,000"),
    ],
)
def test_what_cannot_be_used_is_told_and_the_person_is_asked_again(line: str, told: str) -> None:
    game, typist = sotopia(), Typist(line, "Fine.")
    assert typist.person(SotopiaRenderer(Rules())).act(Observation(game, game.agents[1])) == Action("speak", "Fine.")
    assert told in " ".join(typist.text.split("\n    "))


def test_the_beginning_is_shown_once_and_what_one_waits_for_goes_at_the_end() -> None:
    game = sotopia()
    shown: list[str] = []
    screen = Screen(input, shown.append, live=True)
    person = HumanAgent(screen, SotopiaRenderer(Rules()))
    person.see_the_beginning(Observation(game, game.agents[1]))
    assert shown[-1] == WAITING and not any(text.startswith("1. ") for text in shown)
    person.see_the_end(Observation(game, game.agents[1]))
    screen.wait(WAITING)
    person.see_the_end(Observation(game, game.agents[1]))
    assert "".join(shown).count("Your goal: ") == 1 and shown[-2:] == [WAITING, "\r\x1b[K"]


def test_whoever_stops_has_done_nothing() -> None:
    game, typist = sotopia(), Typist("/stop", "Hello")
    with pytest.raises(EOFError, match="stops"):
        typist.person(SotopiaRenderer(Rules())).act(Observation(game, game.agents[1]))
    assert len(game.acts) == 1


COMMANDS = {
    "say": Command("speak", "say it", "TEXT"),
    "vote": Command("vote", "vote", "[NAME]"),
    "go": Command("go", "go"),
}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("Hello!", Action("speak", "Hello!")),
        ("  two\n lines\t", Action("speak", "two lines")),
        ("/say /go", Action("speak", "/go")),
        ("//go", Action("speak", "/go")),
        ("a \U0001f469\u200d\U0001f52c!", Action("speak", "a \U0001f469\u200d\U0001f52c!")),
        ("/VOTE ann", Action("vote", "ann")),
        ("/vote", Action("vote")),
        ("/go ", Action("go")),
        ("/help", HELP),
        ("/again", AGAIN),
        ("/stop", STOP),
    ],
)
def test_a_line_is_an_act_or_a_wish(line: str, meant: object) -> None:
    assert read_line(line, COMMANDS, "say") == meant


@pytest.mark.parametrize(
    ("line", "plain", "message"),
    [
        ("", "say", "nothing was typed, and nothing done; /help lists"),
        ("a\x1b[Db", "say", r"no text \('.x1b'\); type it again"),
        ("\ud800", "say", "no text"),
        ("/gp", "say", "no command /gp: did you mean 'go'"),
        ("/xyz", "say", "no command /xyz: there are /say, /vote, /go, /help, /again, /stop"),
        ("/go home", "say", "/go takes no words; say them in a line of their own"),
        ("/go home", None, "/go takes no words; leave them out"),
        ("/say", "say", "/say needs words: /say TEXT"),
        ("hello", None, "say which of /say, /vote, /go it is, as /say"),
    ],
)
def test_what_means_nothing_is_told(line: str, plain: str | None, message: str) -> None:
    with pytest.raises(LineError, match=message):
        read_line(line, COMMANDS, plain)


def test_what_can_be_typed_is_listed() -> None:
    rows = listed(COMMANDS, "say")
    assert rows[0] == ("any words", "the same as /say; words that begin with / are written with //")
    assert ("/vote [NAME]", "vote") in rows and listed(COMMANDS, None)[0] == ("/say TEXT", "say it")


def typed(line: str) -> Callable[[str], str]:
    return lambda prompt: line


def test_what_one_waits_for_goes_when_something_else_is_shown() -> None:
    shown: list[str] = []
    live = Screen(typed("x"), shown.append, live=True)
    live.wait("(wait)")
    live.show("Ann: ", "Hi")
    live.wait("(wait)")
    assert live.ask("> ") == "x" and "".join(shown) == "(wait)\r\x1b[KAnn: Hi\n(wait)\r\x1b[K"
    shown.clear()
    Screen(typed("x"), shown.append).wait("(wait)")
    assert shown == []


def test_a_line_that_the_terminal_may_have_cut_is_refused_and_an_edited_one_is_not() -> None:
    longest = "é" * (CUT_AT // 2) + "a"
    with pytest.raises(LineError, match="fills the 4,095 bytes"):
        Screen(typed(longest), print, edited=False).ask("> ")
    assert Screen(typed(longest[:-1]), print, edited=False).ask("> ") and Screen(typed(longest), print).ask("> ")


def test_a_line_that_is_no_text_is_refused() -> None:
    def ask(prompt: str) -> str:
        return b"\xff".decode()

    with pytest.raises(LineError, match="no UTF-8"):
        Screen(ask, print).ask("> ")


def test_without_a_terminal_nobody_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("hello"))
    with pytest.raises(InputError, match="the standard input is none"):
        terminal()


def test_letters_that_the_terminal_lacks_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    out = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(out, encoding="ascii"))
    console._write("caf\u00e9")
    assert out.getvalue() == b"caf\\xe9"


NASTY = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp\x00\ud800\x7f"


def test_what_drives_a_terminal_is_spelled_out() -> None:
    assert printable(NASTY) == "\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\u202egnp\\x00\\ud800\\x7f"
    assert printable("caf\u00e9 \U0001f469\u200d\U0001f52c \u0643") == "caf\u00e9 \U0001f469\u200d\U0001f52c \u0643"


@given(st.text(st.characters(), max_size=200))
def test_whatever_is_said_a_terminal_shows_it(text: str) -> None:
    shown = printable(text)
    assert all(letter.isprintable() or letter in "\u200c\u200d" for letter in shown)
    assert printable(shown) == shown


@given(st.text(max_size=300), st.integers(8, 60))
def test_no_words_stand_where_our_lines_begin(text: str, width: int) -> None:
    first, *others = block("Ann: ", text, width).split("\n")
    assert first.startswith("Ann:") and all(line.startswith(INDENT) for line in others)
    assert all(len(line) <= width for line in (first, *others))
    shown = "".join("".join(line.split()) for line in (first, *others))
    assert shown == "Ann:" + "".join("".join(line.split()) for line in paragraphs(text))
