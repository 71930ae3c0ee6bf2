"""The published profiles."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apportion.environments.sotopia.sources.published import read_published
from apportion.environments.sotopia.tasks import Relationship
from apportion.foundation.errors import InputError

PERSON: dict[str, Any] = {
    "pk": "a1", "first_name": "Ann", "last_name": "Lee", "age": 30, "occupation": "nan", "gender": "Woman",
    "gender_pronoun": "She/her", "public_info": "", "big_five": "", "moral_values": ["['Care'", " ' Loyalty']"],
    "schwartz_personal_values": [], "personality_and_values": "", "decision_making_style": "", "secret": "x",
}  # fmt: skip
PLACE: dict[str, Any] = {
    "pk": "e1", "codename": "c", "source": "s", "scenario": "A yard", "agent_goals": ["a", "b"], "relationship": 2,
    "age_constraint": "[(18, 70), (18, 25)]", "occupation_constraint": "nan", "agent_constraint": None,
}  # fmt: skip
PAIR = {"pk": "r1", "agent_1_id": "a1", "agent_2_id": "a2", "relationship": 2, "background_story": "They met."}
TASK = {"pk": "t1", "env_id": "e1", "agent_ids": ["a1", "a2"]}


def write(folder: Path, **changes: Any) -> Path:
    rows = {
        "AgentProfile": [PERSON, {**PERSON, "pk": "a2", "first_name": "Bob"}],
        "EnvironmentProfile": [PLACE],
        "RelationshipProfile": [PAIR],
        "EnvAgentComboStorage": [TASK],
    } | changes
    folder.mkdir(exist_ok=True)
    for name, value in rows.items():
        (folder / f"{name}.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def test_a_folder_of_profiles(tmp_path: Path) -> None:
    folder = write(tmp_path)
    text = (folder / "AgentProfile.json").read_bytes()
    (folder / "AgentProfile.json").unlink()
    (folder / "AgentProfile.json.gz").write_bytes(gzip.compress(text))
    published = read_published(folder)
    ann = published.characters["a1"]
    assert (ann.name, ann.occupation, ann.moral_values) == ("Ann Lee", "", ("Care", "Loyalty"))
    assert published.known == {frozenset(("Ann Lee", "Bob Lee")): Relationship.ACQUAINTANCE}
    assert list(published.stories.values()) == ["They met."]
    assert published.scenarios["e1"].ages == ((18, 70), (18, 25)) and published.scenarios["e1"].source == "c (s)"
    assert published.notes == (
        "1 tasks break an age or an occupation that their scenario asks for: kept as published, never drawn",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"AgentProfile": "{"}, "AgentProfile.json: cannot be read as JSON"),
        ({"AgentProfile": {"a": 1}}, "a list of profiles is expected, this is dict"),
        ({"AgentProfile": [PERSON, {}]}, "AgentProfile.json: profile 2: no AgentProfile"),
        ({"AgentProfile": [{**PERSON, "first_name": "Ann\n", "last_name": "x"}]}, "profile 1: character"),
        ({"EnvironmentProfile": [{**PLACE, "agent_goals": ["a", ""]}]}, "the goal of agent 2 is empty"),
        ({"EnvironmentProfile": [{**PLACE, "relationship": 9}]}, "profile 1: no EnvironmentProfile"),
        ({"EnvironmentProfile": [{**PLACE, "age_constraint": "18"}]}, "a list is expected"),
        ({"EnvAgentComboStorage": [{**TASK, "agent_ids": ["a1"]}]}, "1 characters for 2 goals"),
        ({"RelationshipProfile": [{**PAIR, "agent_1_id": "a9"}]}, "profile 1: no RelationshipProfile"),
    ],
)
def test_a_profile_that_cannot_be_read_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_published(write(tmp_path, **changes))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("nan", ()),
        ("[['student', 'fashion_designer'], ['nan']]", (("student", "fashion designer"), ())),
        ("['musician', 'finance']", (("musician",), ("finance",))),
        ("[['any'], []]", ((), ())),
    ],
)
def test_occupations_are_read_in_each_of_their_forms(
    tmp_path: Path, written: str, read: tuple[tuple[str, ...], ...]
) -> None:
    published = read_published(write(tmp_path, EnvironmentProfile=[{**PLACE, "occupation_constraint": written}]))
    assert published.scenarios["e1"].occupations == read


def test_both_relationships_of_a_pair_are_kept(tmp_path: Path) -> None:
    published = read_published(write(tmp_path, RelationshipProfile=[PAIR, {**PAIR, "pk": "r2", "relationship": 3}]))
    space = published.space("here")
    assert space.twice() == 1 and "1 pairs of characters have two relationships" in space.notes[1]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither AgentProfile.json nor AgentProfile.json.gz"):
        read_published(tmp_path)
