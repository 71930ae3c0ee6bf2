"""What a typed line means."""

import pytest

from apportion.environments.actions import Action
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import AGAIN, HELP, STOP, Command, listed, read_line

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
        (" \t ", "say", "nothing was typed"),
        ("a\x1b[Db", "say", r"no text \('.x1b'\); type it again"),
        ("\ud800", "say", "no text"),
        ("/gp", "say", "no command /gp: did you mean 'go'"),
        ("/xyz", "say", "no command /xyz: there are /say, /vote, /go, /help, /again, /stop"),
        ("/", "say", "no command /"),
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
