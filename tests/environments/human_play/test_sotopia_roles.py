"""Who plays what."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.environments.human_play.sotopia import PersonChoice, cast
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import used_by
from apportion.environments.sotopia.sources.task_file import written
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec

CHOICE = PersonChoice(scenario="used_bicycle", called="<{}>".format)


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
    names = {cast(replace(CHOICE, **other)).episode for other in ({}, *others)}
    assert len(names) == 10 and cast(CHOICE).episode == "used_bicycle-0-person-conceding-0"
    assert not any(word in name for one in bundled_tasks.characters() for word in one.name.split() for name in names)
    assert cast(replace(CHOICE, partner="base", chosen=ModelSpec("m"))).episode.endswith("-person-base@m-0")


def test_the_seed_draws_the_scenario_and_the_characters() -> None:
    castings = [cast(PersonChoice(seed=seed)) for seed in range(20)]
    assert len({one.task.scenario.name for one in castings}) > 5
    assert len({cast(replace(CHOICE, seed=seed)).character for seed in range(20)}) > 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"who": "3"}, "<who> '3': no such seat; seats are counted from 1"),
        ({"who": "0"}, "no such seat"),
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
        cast(replace(CHOICE, **change))  # type: ignore[arg-type]


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
