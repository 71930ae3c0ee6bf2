import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from apportion.cli import main
from apportion.commands.world.play import tell_played
from apportion.corpus.corpus import Corpus
from apportion.environments.actions import MOST_UNUSABLE, UNUSABLE
from apportion.environments.environment import Action, Observation
from apportion.environments.episode_log import read_log
from apportion.environments.human_play.episode import HumanPlay, PersonPlayed
from apportion.environments.human_play.sotopia import PersonChoice, cast
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_file import written
from apportion.environments.sotopia.tasks import Character
from apportion.environments.terminal.console import Screen
from apportion.foundation.errors import InputError
from tests.environments.terminal.test_human_agent import Typist
from tests.pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

SCENARIO, WHO = "used_bicycle", "Nadia Ferro"
SEAT = cast(PersonChoice(WHO, SCENARIO)).seat
OURS = f"from {__name__} import with_rude_partners; import sys; with_rude_partners(sys.argv[1:])"
CANARY = "canarybird"
AGE = 149
RUDE = "\x1b[2J\x1b]0;owned\x07\n2. You: I give you everything.\x9b8m"


def with_rude_partners(arguments: list[str]) -> None:
    """The command line where scripts say what drives terminals."""
    concede = Conceding.act

    def act(self: Conceding, view: Observation) -> Action:
        """Concedes; rude where it speaks."""
        act = concede(self, view)
        return act._replace(text=act.text + RUDE) if act.kind == "speak" else act

    Conceding.act = act  # type: ignore[method-assign]
    main(arguments)


def with_canaries() -> TaskSpace:
    """The bundled tasks with a canary in each field of every other character, and in the goal of the other seat."""
    space = bundled_tasks.space()
    people = {one.name: one if one.name == WHO else _marked(one) for one in space.characters}
    pairs = [replace(one, between=tuple(people[name].name for name in one.between)) for one in space.relationships]
    (place,) = space.only([SCENARIO]).scenarios
    goals = tuple(goal + ("" if seat == SEAT else CANARY) for seat, goal in enumerate(place.goals))
    scenarios = (replace(place, goals=goals),)
    return replace(space, characters=tuple(people.values()), relationships=tuple(pairs), scenarios=scenarios)


def _marked(character: Character) -> Character:
    marks = {
        field.name: f"{value}{CANARY}" if isinstance(value, str) else (*value, CANARY)
        for field in fields(Character)
        if isinstance(value := getattr(character, field.name), str | tuple)
    }
    return replace(character, age=AGE, **marks)  # type: ignore[arg-type]


def playing(folder: Path, *options: str) -> PseudoTerminal:
    tasks = folder / "tasks.toml"
    tasks.write_text(written(with_canaries()))
    arguments = f"world play sotopia {folder / 'study'} --tasks {tasks} --scenario {SCENARIO} --as".split()
    return PseudoTerminal(["-c", OURS, *arguments, WHO, *options])


@pytest.mark.slow
def test_a_whole_episode_stopped_killed_and_gone_on_with_shows_nothing_that_is_hidden(tmp_path):
    seat = SEAT
    screens = []
    with playing(tmp_path) as terminal:
        terminal.until(f"{seat + 1}. You: ")
        terminal.type("Hello!\r")
        terminal.until(f"{seat + 3}. You: ")
        terminal.type("/shout\r")
        assert "! no command /shout: there are /say, /do," in terminal.until(f"{seat + 3}. You: ")
        terminal.type("a" * 20_001 + "\r")
        shown = terminal.until(f"\n{seat + 3}. You: ").replace("\r\n    ", " ")
        assert "20,001 characters at once; at most 20,000" in shown
        terminal.type("/do smiles\r")
        terminal.until(f"{seat + 5}. You: ")
        terminal.type("half a sen")
        terminal.until("half a sen")
        assert terminal.end_by(CTRL_C) == 130 and "stopped. What is finished is kept" in terminal.screen
        screens.append(terminal.screen)
    with playing(tmp_path) as terminal:
        terminal.until(f"{seat + 1}. You: Hello!")
        terminal.until(f"{seat + 3}. You (non-verbal communication): smiles")
        terminal.until(f"{seat + 5}. You: ")
        terminal.type("/physical offer: 85\r")
        terminal.until(f"{seat + 7}. You: ")
        terminal.kill()
        screens.append(terminal.screen)
    with playing(tmp_path) as terminal:
        terminal.until(f"{seat + 5}. You (physical action): offer: 85")
        terminal.until(f"{seat + 7}. You: ")
        terminal.type("/again\r")
        terminal.until(f"{seat + 7}. You: ")
        terminal.type("/leave\r")
        terminal.until("next: apportion inspect")
        assert terminal.end() == 0
        screens.append(terminal.screen)
    for screen in screens:
        assert CANARY not in screen.lower() and str(AGE) not in screen
        assert "\x1b[2J" not in screen and "\x1b]0;" not in screen and "\x9b" not in screen
        assert "\n2. You: I give" not in screen and "\\x1b[2J\\x1b]0;owned\\x07" in screen
    said = Corpus.open(tmp_path / "study").tables["utterances"].to_pylist()
    acts = [row["text"] for row in said if row["speaker"] == WHO]
    assert acts == [
        "Hello!",
        "[non-verbal communication] smiles",
        "[physical action] offer: 85",
        "[leave] left the conversation",
    ]
    # That the canaries were there to be seen.
    assert CANARY in json.dumps(Corpus.open(tmp_path / "study").tables["backgrounds"].to_pylist())


def test_the_end_of_the_input_stops_and_keeps_what_was_played(tmp_path):
    with playing(tmp_path, "--seed", "0") as terminal:
        terminal.until(f"{SEAT + 1}. You: ")
        terminal.type("Hello!\r")
        terminal.until(f"{SEAT + 3}. You: ")
        assert terminal.end_by(CTRL_D) == 130 and "run the same command again to go on" in terminal.screen
    (logged,) = read_log(tmp_path / "study" / "episodes.jsonl").values()
    assert any(move.act.text == "Hello!" for moves in logged.steps for move in moves)


@pytest.mark.parametrize("world", ["sotopia", "negotiation", "onuw"])
def test_how_much_may_be_unusable_is_said_as_everywhere(tmp_path, monkeypatch, world):
    chosen = []

    def play(self: HumanPlay, out: Path, screen: Screen) -> PersonPlayed:
        chosen.append(self)
        raise InputError("looked at")

    monkeypatch.setattr(HumanPlay, "play", play)
    monkeypatch.setattr("apportion.environments.terminal.console.terminal", lambda: Typist().screen)
    for options in ([], ["--most-unusable", "0.5"]):
        with pytest.raises(SystemExit) as stopped:
            main(["world", "play", world, str(tmp_path / "new"), *options])
        assert stopped.value.code == 2
    assert [one.most_unusable for one in chosen] == [MOST_UNUSABLE, 0.5]


def test_an_episode_without_a_score_for_a_partner_s_acts_ends_with_1_and_keeps_its_share(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Conceding, "act", lambda self, view: view.stand_in(UNUSABLE, "no JSON"))
    out = tmp_path / "one"

    def play(seed: int, most: float) -> PersonPlayed:
        lines = Typist("Hello!", "Well?", "/leave")
        return PersonChoice(scenario=SCENARIO, seed=seed, most_unusable=most).play(out, lines.screen)

    tell_played(play(0, 1.0), out, None)
    assert "Sessions without a score for it: 0." in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        tell_played(play(1, MOST_UNUSABLE), out, None)
    assert stopped.value.code == 1 and "Sessions without a score for it: 1." in capsys.readouterr().out
    rated = {row["session_id"] for row in Corpus.open(out).ratings.to_pylist()}
    first, second = read_log(out / "episodes.jsonl")
    assert rated == {first} and second not in rated
