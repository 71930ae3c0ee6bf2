"""Which social episodes a policy plays, in whose seat, and who has the other one."""

import json

import pytest
from pydantic import ValidationError

from apportion.foundation.errors import InputError
from apportion.rlhf.alignment import align_here
from apportion.rlhf.plugins import ENVIRONMENTS
from apportion.rlhf.sampling.starts import SotopiaStarts, starts_of
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Asking, Job
from tests.environments.sotopia.test_canaries import OF_A, OF_B, TASKS
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.rlhf.saved import save_aligned
from tests.rlhf.test_alignment import SPLITS, by_length
from tests.rlhf.toy import SMALL, Scored, chats

LIVE = {
    "algorithm": "grpo",
    "environment": "sotopia",
    "num_generations": 2,
    "batch_size": 4,
    "mini_batch_size": 4,
    "steps": 1,
}
SHORT = {"scenarios": ["used_bicycle"], "pairs": 1, "most_acts": 4}


def made(**values) -> AlignSettings:
    return AlignSettings.model_validate({**LIVE, **values})


def test_every_seat_of_every_task_is_a_start_and_repeats_draw_differently():
    starts = starts_of(SotopiaStarts(scenarios=("used_bicycle",), pairs=2, repeats=2), 7)
    assert len(starts) == len({start.name for start in starts}) == 8
    games = [start.make() for start in starts]
    assert len({game.seed for game in games}) == 8 and all(game.seed.startswith("7/used_bicycle-") for game in games)
    assert [start.name for start in starts_of(SotopiaStarts(scenarios=("used_bicycle",), pairs=2, repeats=2), 7)] == [
        start.name for start in starts
    ]
    (second,) = starts_of(SotopiaStarts(scenarios=("used_bicycle",), pairs=1, seats=("second",)), 7)
    assert second.agent == second.make().agents[1]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"outcome": "GAOL"}, "no dimension 'GAOL'; there are"),
        ({"seats": ["first", "first"]}, "first, first: name each seat once"),
        ({"seats": []}, "at least 1"),
        ({"most_acts": 1}, "greater than or equal to 2"),
        ({"scenario": "x"}, "scenario: unknown key; did you mean 'scenarios'"),
    ],
)
def test_settings_that_cannot_be_are_refused_where_the_alignment_is_set(values, told):
    with pytest.raises(ValidationError, match=told):
        made(environment_settings=values)


def test_what_there_is_not_is_told_when_it_is_played(tmp_path):
    with pytest.raises(InputError, match="no scenario 'bicycle'"):
        starts_of(SotopiaStarts(scenarios=("bicycle",)), 0)
    for other, told in (("conceeding", "did you mean 'conceding'"), ("policy@/no/such", "/no/such"), ("base@", "@")):
        job = Job(chats(4), SPLITS, None, small(other), 0, tmp_path / "out")
        with pytest.raises(InputError, match=told):
            align_here(job, Scored(by_length))
    (tmp_path / "three.toml").write_text(
        TASKS.replace('goals = ["GOAL-A", "GOAL-B"]', 'goals = ["A", "B", "C"]')
        .replace("price = { worst = [1.0, 9.0], best = [9.0, 1.0] }", "")
        .replace('characters = ["Ann Lee", "Bob Ray"]', 'characters = ["Ann Lee", "Bob Ray", "Cy"]')
        + '[[character]]\nname = "Cy"\nage = 40\n'
    )
    with pytest.raises(InputError, match="scenario 's' is for 3; name those for two"):
        starts_of(SotopiaStarts(tasks=tmp_path / "three.toml"), 0)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"algorithm": "raft"}, "environment = 'sotopia' is for ppo, grpo and rloo, not for raft"),
        ({"environment": None, "reward": "outcome"}, "reward = 'outcome' is what the rules of an environment say"),
        (
            {"environment": "negotiation", "environment_settings": {"outcome": "GOAL"}},
            "no dimension 'GOAL'; there are points",
        ),
        ({"max_turns": 2}, "max_turns and environment = 'sotopia'.*take out max_turns"),
        ({"prompts": "p.jsonl"}, "take out prompts"),
        ({"environment": "sotopai"}, "no environment 'sotopai'; did you mean 'sotopia'"),
        ({"environment": None, "environment_settings": SHORT}, "environment_settings are given, and no environment"),
    ],
)
def test_an_environment_says_itself_what_is_answered(values, told):
    with pytest.raises(ValidationError, match=told):
        made(**values)


def test_what_is_played_enters_the_key_by_what_it_is_and_only_where_something_is(tmp_path):
    assert "environment" not in AlignSettings().chosen
    first, second = (tmp_path / name for name in ("a.toml", "b.toml"))
    first.write_text(TASKS), second.write_text(TASKS)
    keys = [made(environment_settings={"tasks": str(path)}).chosen for path in (first, second)]
    assert keys[0] == keys[1] and keys[0]["environment"]["name"] == "sotopia"
    second.write_text(TASKS.replace("GOAL-A", "GOAL-C"))
    assert made(environment_settings={"tasks": str(second)}).chosen != keys[0]
    assert made().chosen != made(environment_settings={"most_acts": 6}).chosen
    # How a server is reached decides nothing; which model does.
    asked = [
        made(environment_settings={"other": "base", "llm": llm}).chosen
        for llm in ({"model": "m"}, {"model": "m", "concurrency": 3}, {"model": "n"})
    ]
    assert asked[0] == asked[1] != asked[2]
    folder = save_aligned(tmp_path / "policy")
    by_folder = made(environment_settings={"other": f"policy@{folder}"}).chosen
    save_aligned(folder, seed=1)
    assert made(environment_settings={"other": f"policy@{folder}"}).chosen["environment"]["settings"].keys() == (
        by_folder["environment"]["settings"].keys()
    )


def test_files_are_found_from_the_configuration_and_shown_by_their_names(tmp_path):
    given = {"tasks": "t.toml", "other": "policy@./mine"}
    found = made(environment_settings=given).found_from(tmp_path)
    assert found.environment_settings["tasks"] == str(tmp_path / "t.toml")
    assert found.environment_settings["other"] == f"policy@{tmp_path / 'mine'}"
    assert found.shown()["environment_settings"] == {"tasks": "t.toml", "other": "policy@mine"}
    several = "self,policy@/a/mine,learned@/b/fair,recorded@/c/log.jsonl#3,base@x/y"
    assert made(environment_settings={"other": several}).shown()["environment_settings"] == {
        "other": "self,policy@mine,learned@fair,recorded@log.jsonl#3,base@x/y"
    }
    assert made().found_from(tmp_path) == made() and made().shown() == made().plain()
    asked = made(environment_settings={"other": "base", "llm": {"model": "m"}}).consented("host")
    assert asked.environment_settings["llm"] == {"model": "m", "allow_host": "host"}
    assert made().consented("host") == made() == made().consented(None)


def small(other: str, **settings) -> AlignSettings:
    played = {**SHORT, "other": other, **settings}
    room = {"max_context_tokens": 3000, "samples": 1}
    return AlignSettings.model_validate(
        {**SMALL.model_dump(exclude_unset=True), **LIVE, **room, "environment_settings": played}
    )


def test_a_language_model_has_the_other_seat_and_is_told_nothing_of_the_policy_s(tmp_path):
    (tmp_path / "tasks.toml").write_text(TASKS)
    answer = completion(json.dumps({"act": "speak", "text": "Good morning."}))
    with serving(OpenAIServer(answer=lambda body: answer)) as server:
        llm = {"model": "m", "base_url": server.url, "max_retries": 0}
        played = {"scenarios": [], "tasks": str(tmp_path / "tasks.toml"), "llm": llm}
        settings = small("base", **played)
        asking = Asking(cache=tmp_path / "cache.sqlite")
        job = Job(chats(4), SPLITS, None, settings, 0, tmp_path / "out", asking=asking)
        history, samples = align_here(job, Scored(by_length))
        first = len(server.requests)
        asked = [json.dumps(body) for body in server.requests]
        # Each of the two seats is the policy's in turn, and what it alone knows is in no request of the other's.
        assert asked and all(("GOAL-A" in text) != ("GOAL-B" in text) for text in asked)
        for text in asked:
            hidden = OF_B if "GOAL-A" in text else OF_A
            assert not [secret for secret in hidden if secret in text]
        assert {row["metric"] for row in history.to_pylist()} >= {"outcome", "ended", "unusable"} and len(samples) == 1
        again = align_here(
            Job(chats(4), SPLITS, None, settings, 0, tmp_path / "again", asking=asking), Scored(by_length)
        )
        # Replies that were paid are kept: the same training asks nothing twice, and ends the same.
        assert len(server.requests) == first and again[0] == history


def test_a_model_elsewhere_needs_consent(tmp_path):
    settings = small("base", llm={"model": "m", "base_url": "https://models.example/v1"})
    with pytest.raises(InputError, match=r"models\.example"):
        align_here(Job(chats(4), SPLITS, None, settings, 0, tmp_path / "out"), Scored(by_length))


@pytest.mark.slow
def test_another_policy_has_the_other_seat(tmp_path):
    other = tmp_path / "other"
    align_here(Job(chats(4), SPLITS, None, small("conceding"), 1, other), Scored(by_length))
    job = Job(chats(4), SPLITS, None, small(f"policy@{other}"), 0, tmp_path / "out")
    history, samples = align_here(job, Scored(by_length))
    assert any(row["metric"] == "reward" for row in history.to_pylist()) and len(samples) == 1


def test_environments_are_found_by_name():
    assert ENVIRONMENTS.names()[:1] == ["sotopia"]
