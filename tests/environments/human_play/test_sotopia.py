"""A person's episodes as a corpus."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import claim
from apportion.environments.episode_log import read_log
from apportion.environments.human_play.episode import PersonPlayed
from apportion.environments.human_play.sotopia import PersonChoice, cast
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import LOG
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import used_by
from apportion.environments.sotopia.sources.task_file import written
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.model_spec import CACHE, ModelSpec
from tests.environments.terminal.test_human_agent import Typist
from tests.llm_client.openai_server import Body, Fault, OpenAIServer, completion, serving

CHOICE = PersonChoice(scenario="used_bicycle")


def play(out: Path, *lines: str, choice: PersonChoice = CHOICE) -> tuple[PersonPlayed, str]:
    typist = Typist(*lines)
    return choice.play(out, typist.screen), typist.text


def test_an_episode_is_a_session_as_any_other(tmp_path: Path) -> None:
    played, _ = play(tmp_path / "one", "Hello!", "/physical offer: 85", "/leave")
    corpus = Corpus.open(tmp_path / "one")
    (session,) = corpus.tables["sessions"].to_pylist()
    assert session["source"] == "simulated: sotopia, agents person and conceding, judge rules"
    texts = [row["text"] for row in corpus.tables["utterances"].to_pylist()]
    assert texts[::2] == ["Hello!", "[physical action] offer: 85", "[leave] left the conversation"]
    assert played.acts == 5 and played.begun == 0 and not played.again and played.report.problems == ()
    scores = {row["name"]: row["score"] for row in corpus.tables["ratings"].to_pylist() if row["target"] == own()}
    assert scores == played.scores and scores["GOAL"] == 0.0
    restored = SIMULATOR.open(corpus.session(session["session_id"]), tmp_path / "one", lambda request: completion(""))
    assert restored.as_it_stands(own(), {0}).scores["GOAL"] == 0.0
    with pytest.raises(UnitError, match=r"'person' .* cannot play on"):
        restored.play_on(own(), {0}, [0])


def own() -> str:
    return cast(CHOICE).character


def test_stopped_at_any_line_the_same_call_goes_on_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    lines = ("Hello!", "/do smiles", "/physical offer: 85", "Well?", "/leave")
    play(tmp_path / "whole", *lines)
    for count in range(len(lines)):
        with pytest.raises(EOFError):
            play(tmp_path / "cut", *lines[count:][:1])
        (logged,) = read_log(tmp_path / "cut" / LOG).values()
        assert len(logged.steps) >= 2 * count + 1
        if count == len(lines) - 2:
            break
    _, text = play(tmp_path / "cut", lines[-1])
    assert "1. You: Hello!" in text and "3. You (non-verbal communication): smiles" in text
    for file in (*(f"{name}.parquet" for name in ("sessions", "utterances", "ratings", "backgrounds")), LOG):
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    again, text = play(tmp_path / "cut")
    assert again.again and again.acts == 9 and "9. You left the conversation" in text


def test_episodes_of_several_choices_go_into_one_folder_and_no_other_s(tmp_path: Path) -> None:
    play(tmp_path / "one", "/leave")
    with pytest.raises(EOFError):
        play(tmp_path / "one", "Hm.", choice=replace(CHOICE, seed=1))
    played, _ = play(tmp_path / "one", "/leave", choice=replace(CHOICE, scenario="drum_kit", person="ann"))
    assert played.begun == 1 and played.report.rows["sessions"] == 2
    sources = [row["source"] for row in Corpus.open(tmp_path / "one").tables["sessions"].to_pylist()]
    assert any("agents ann and conceding" in source for source in sources)
    (tmp_path / "other").mkdir()
    claim(tmp_path / "other", {"kind": "simulate sotopia"})
    with pytest.raises(InputError, match="not empty"):
        play(tmp_path / "other", "/leave")


def test_a_log_that_holds_what_cannot_be_played_is_named(tmp_path: Path) -> None:
    play(tmp_path / "one", "/leave")
    log = tmp_path / "one" / LOG
    log.write_text(log.read_text().replace('"scenario":"used_bicycle"', '"scenario":"gone"'))
    with pytest.raises(InputError, match=r"episodes.jsonl: episode 'used_bicycle.*cannot be played again"):
        play(tmp_path / "one", "/leave", choice=replace(CHOICE, scenario="drum_kit"))


def test_a_damaged_log_does_not_show_who_the_stranger_is(tmp_path: Path) -> None:
    stranger = next(one.name for one in cast(CHOICE).task.characters if one.name != own())
    play(tmp_path / "one", "/leave" if cast(CHOICE).seat else "Hello!", "/leave")
    log = tmp_path / "one" / LOG
    log.write_text(log.read_text().replace(f'[["{stranger}","speak"', f'[["{stranger}",7', 1))
    with pytest.raises(InputError, match=r"no line of an episode log .*the other person") as failure:
        play(tmp_path / "one")
    assert stranger not in str(failure.value)


def test_a_partner_who_fails_is_not_named_where_the_person_may_not_know_the_name(tmp_path: Path) -> None:
    stranger = next(one.name for one in cast(CHOICE).task.characters if one.name != own())

    def refuse(body: Body) -> Fault | None:
        return Fault(400, "no") if "So?" in body["messages"][1]["content"] else None

    says = completion(json.dumps({"act": "speak", "text": "Hi."}))
    with serving(OpenAIServer(answer=lambda body: says, refuse=refuse)) as server:
        choice = replace(CHOICE, partner="base", chosen=ModelSpec("m", base_url=server.url))
        with pytest.raises(UnitError, match=r"could not go on: .*the other person") as failure:
            play(tmp_path / "one", "Hello", "So?", choice=choice)
        assert stranger not in str(failure.value) and "What was played is kept" in str(failure.value)
        bodies = json.dumps(server.requests)
    assert (tmp_path / "one" / CACHE).exists() and stranger in bodies
    (logged,) = read_log(tmp_path / "one" / LOG).values()
    assert [move.act.text for moves in logged.steps for move in moves] == ["Hello", "Hi.", "So?"]


def test_a_recorded_partner_does_again_what_it_did(tmp_path: Path) -> None:
    play(tmp_path / "one", "Hello!", "Well?", "/leave")
    (first,) = read_log(tmp_path / "one" / LOG).values()
    choice = replace(CHOICE, partner=f"recorded@{tmp_path}/one/{LOG}")
    play(tmp_path / "two", "Hm.", "/do shrugs", "/leave", choice=choice)
    ((name, second),) = read_log(tmp_path / "two" / LOG).items()
    assert second.steps[1::2] == first.steps[1::2] and second.steps[::2] != first.steps[::2] and "/" not in name


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("")
    for out in (tmp_path / "one", tmp_path / "one" / "two"):
        with pytest.raises(InputError, match="cannot be written"):
            play(out, "/leave")


def test_a_partner_that_cannot_be_asked_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no agent 'concedin'"):
        play(tmp_path / "one", "/leave", choice=replace(CHOICE, partner="concedin"))
    assert not (tmp_path / "one").exists() and CHOICE.kind == "play sotopia"


SEEN = PersonChoice(scenario="used_bicycle", called="<{}>".format)


def test_every_character_can_be_played_in_some_scenario_and_every_scenario_by_somebody() -> None:
    for one in bundled_tasks.characters():
        casting = cast(PersonChoice(one.name))
        assert casting.character == one.name and casting == cast(PersonChoice(one.name.split()[0].upper()))
    for scenario in bundled_tasks.scenarios():
        for seat in (0, 1):
            casting = cast(PersonChoice(str(seat + 1), scenario.name))
            assert casting.seat == seat and casting.task.scenario == scenario and casting.task.check() is None


def test_an_episode_has_a_name_that_tells_its_choice_apart_and_names_no_character() -> None:
    others = (
        {"who": "2"}, {"partner": "random"}, {"person": "ann"}, {"seed": 1}, {"rules": Rules("paper")},
        {"rules": Rules(most_acts=4)}, {"partner": "base@m"}, {"scenario": "drum_kit"}, {"task_set": "checkable"},
    )  # fmt: skip
    names = {cast(replace(SEEN, **other)).episode for other in ({}, *others)}
    assert len(names) == 10 and cast(SEEN).episode == "used_bicycle-0-person-conceding-0"
    assert not any(word in name for one in bundled_tasks.characters() for word in one.name.split() for name in names)
    assert cast(replace(SEEN, partner="base", chosen=ModelSpec("m"))).episode.endswith("-person-base@m-0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"who": "3"}, "<who> '3': no such seat; seats are counted from 1"),
        ({"who": "Nadja Ferro"}, "<who> 'Nadja Ferro': no such character: did you mean 'Nadia Ferro'"),
        ({"who": "Xu"}, "there are Nadia Ferro, .*; or give a seat by its number"),
        ({"who": "Nadia", "scenario": None, "partner": "conceding", "person": "a b"}, "<person> 'a b': give 1 to 40"),
        ({"person": "base"}, "<person> 'base' is an agent's name"),
        ({"scenario": "bike"}, "no scenario 'bike'"),
        ({"partner": "recorded@nowhere"}, "is no file"),
    ],
)
def test_what_cannot_be_played_is_told(change: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cast(replace(SEEN, **change))  # type: ignore[arg-type]


def test_somebody_who_knows_nobody_as_the_scenario_wants_it_is_told_where_to_play() -> None:
    told = 0
    for scenario in bundled_tasks.scenarios():
        for one in bundled_tasks.characters():
            try:
                cast(PersonChoice(one.name, scenario.name))
            except InputError as error:
                told += 1
                assert f"nobody knows {one.name} as scenario {scenario.name!r} wants it; it can be" in str(error)
    assert told > 0


def test_tasks_of_a_file_are_played_as_stated(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    task = bundled_tasks.tasks()[7]
    file.write_text(written(used_by(bundled_tasks.space(), [task])))
    assert cast(PersonChoice("2", tasks=file)).task == task
    other = next(one.name for one in bundled_tasks.characters() if one not in task.characters)
    with pytest.raises(InputError, match="no such character: "):
        cast(PersonChoice(other, tasks=file))


def test_where_nobody_fits_the_scenario_that_was_asked_for_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    space = bundled_tasks.space()
    file.write_text(written(replace(space, relationships=())))
    with pytest.raises(InputError, match="none of the 8 characters fit"):
        cast(PersonChoice(scenario="drum_kit", tasks=file))
    assert cast(PersonChoice(tasks=file)).task.scenario.relationship.words == "stranger"
