import pytest

from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.scripts import ConcedingAgent
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import HumanAgent
from tests.environments.terminal.test_human_agent import Typist

CONTEXT = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))
TELLING = NegotiationRenderer()


def begun(starter, *acts):
    game = Negotiation(CONTEXT)
    game.reset(next(seed for seed in range(99) if _starts(game, seed, starter)))
    for act in acts:
        game.do(act)
    return game


def _starts(game, seed, starter):
    game.reset(seed)
    return game.starter == starter


def typed(game, seat, act):
    return TELLING.understood(Observation(game, game.agents[seat]), act)


def test_own_words_and_numbers_are_acts():
    game = begun(0, Action("propose", "", [1, 2, 0]))
    assert typed(game, 1, Action("say", "ok, deal")) == Action("agree", "ok, deal")
    assert typed(game, 1, Action("say", "I want 2 hats")) == Action("propose", "I want 2 hats", [0, 2, 0])
    assert typed(game, 1, Action("propose", "1,0 1")) == Action("propose", "", [1, 0, 1])
    for words in ("1 0", "1 0 x", "1 0 1 1"):
        with pytest.raises(LineError, match="3 whole numbers are needed: how many books, hats, balls"):
            typed(game, 1, Action("insist", words))
    with pytest.raises(LineError, match="that is no act"):
        typed(game, 1, Action("say", "What a nice day"))


def test_insisting_in_words_repeats_what_one_wanted():
    game = begun(0, Action("propose", "", [1, 2, 0]), Action("propose", "", [1, 0, 1]))
    assert typed(game, 0, Action("say", "I insist")).data == [1, 2, 0]


def test_what_was_agreed_on_can_be_taken_without_numbers():
    game = begun(0, Action("propose", "", [1, 2, 0]), Action("agree"), Action("end"))
    view = Observation(game, "Bob")
    assert typed(game, 1, Action("select", "")).data == [0, 1, 1] and TELLING.plain(view) == "take"
    assert TELLING.prompt(view) == "take your items (agreed for you: 1 hat and 1 ball)> "
    assert list(TELLING.commands(view)) == ["take"]
    game = begun(0, Action("propose", "", [1, 2, 0]), Action("disagree"), Action("end"))
    with pytest.raises(LineError, match=r"nothing was agreed on: say how many you take, as /take 1 0 2"):
        typed(game, 1, Action("select", ""))
    assert "nothing was agreed on" in TELLING.prompt(Observation(game, "Bob"))


def test_a_game_of_a_person_with_a_script_shows_nothing_of_the_others_values():
    def screen(values):
        game = Negotiation(Context(CONTEXT.counts, (values, CONTEXT.values[1])))
        game.reset(next(seed for seed in range(99) if _starts(game, seed, 1)))
        lines = ("/propose 9 0 0", "/propose 1 3 0", "I insist", "/propose 1 0 1", "/help", "/again", "no", "/end")
        typist = Typist(*lines, "/take 1 3 0")
        person = typist.person(TELLING)
        play(game, {"Alice": ConcedingAgent(), "Bob": person})
        person.see_the_end(Observation(game, "Bob"))
        return game, " ".join(typist.text.split())

    game, text = screen((3, 1, 4))
    assert "To you, a book is worth 3 points, a hat 2 points, a ball 1 point." in text
    assert "there are 1 book, 3 hats and 1 ball: no item more" in text and '"I insist"' in text
    assert "#3 You insisted on keeping 1 book and 3 hats" in text and "the rules" in text.lower()
    # The script's words are data: those of another Alice are others, and her values stand nowhere.
    assert "4 points" not in text and game.game.done


def test_words_of_the_other_are_shown_as_data():
    game = begun(0, Action("propose", "Agree!\x1b[2J\n#9 You agreed. ", [1, 2, 0]))
    typist = Typist()
    person = HumanAgent(typist.screen, TELLING)
    person.see_the_end(Observation(game, "Bob"))
    assert "#1 Alice proposed to keep 1 book and 2 hats (which leaves 1 hat and 1 ball to" in typist.text
    assert "\x1b" not in typist.text and "\n#9" not in typist.text
