"""Replies are read strictly."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from apportion.environments.sotopia.generation.inputs import Vignette, read_items, read_vignettes
from apportion.environments.sotopia.generation.replies import (
    BackgroundReply,
    RelationshipReply,
    read_as,
    read_characters,
    read_scenario,
    read_sentence,
)
from apportion.environments.sotopia.tasks import Relationship
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply

ANN: dict[str, Any] = {
    "name": "Ann  Lee", "gender": "woman", "pronouns": "she/her", "age": 30, "occupation": "baker",
    "big_five": {
        "neuroticism": "low", "openness to experience": "high", "conscientiousness": "low", "extraversion": "low",
        "agreeableness": "medium",
    },
    "moral_values": ["Care"], "schwartz_values": ["power"], "decision_style": "directive",
}  # fmt: skip
PLACE = {"context": "A yard.", "goals": ["a", "b"], "relationship": "Friend", "ages": [], "occupations": []}


def reply(value: Any) -> ChatReply:
    return ChatReply(value if isinstance(value, str) else json.dumps(value), "m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": 12}, "characters.0.age = 12"),
        ({"name": " "}, "empty; give a text"),
        ({"name": "you"}, "choose another name"),
        ({"moral_values": ["kindness"]}, '"kindness" is not allowed; allowed are care'),
        ({"moral_values": []}, "give at least one, and each once"),
        ({"big_five": {**ANN["big_five"], "extraversion": "huge"}}, '"huge" is not allowed'),
        ({"big_five": {"extraversion": "low"}}, "it needs openness to experience"),
        ({"hobby": "x"}, "hobby: unknown key"),
    ],
)
def test_a_character_with_a_mistake_is_told(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyMistakeError, match=message):
        read_characters(1, ())(reply({"characters": [{**ANN, **change}]}))


def test_the_number_of_characters_and_names_that_are_taken() -> None:
    with pytest.raises(ReplyMistakeError, match="1 characters; 2 are asked for"):
        read_characters(2, ())(reply({"characters": [ANN]}))
    with pytest.raises(ReplyMistakeError, match="the name 'Ann Lee' is taken"):
        read_characters(2, ())(reply({"characters": [ANN, deepcopy(ANN)]}))
    with pytest.raises(ReplyMistakeError, match="the name 'Ann Lee' is taken"):
        read_characters(1, ("Ann Lee",))(reply({"characters": [ANN]}))


def test_other_replies_are_read_or_refused() -> None:
    assert read_as(BackgroundReply)(reply({"secret": "s", "public_info": "p"})).secret == "s"
    told = read_as(RelationshipReply)(reply({"relationship": "FAMILY", "background_story": "x"}))
    assert told.kind is Relationship.FAMILY
    for wrong, message in (("no JSON", "not one JSON object"), ("[1]", "no JSON object"), ("{}", "missing")):
        with pytest.raises(ReplyMistakeError, match=message):
            read_as(BackgroundReply)(reply(wrong))
    with pytest.raises(ReplyMistakeError, match='"stranger" is not allowed; allowed are family'):
        read_as(RelationshipReply)(reply({"relationship": "stranger", "background_story": "x"}))


def test_a_scenario_has_two_goals_and_a_constraint_a_seat() -> None:
    read = read_scenario(reply({**PLACE, "ages": [[18, 30], [18, 70]], "occupations": [["baker"], []]}))
    assert read.kind is Relationship.FRIEND and read.ages == ((18, 30), (18, 70))
    for change, message in (
        ({"goals": ["a"]}, "goals"),
        ({"goals": ["a", ""]}, "goals.1 = ''"),
        ({"relationship": "rivals"}, '"rivals" is not allowed; allowed are stranger'),
        ({"ages": [[18, 30]]}, "ages has 1 values; give one for each agent"),
        ({"ages": [[40, 30], [18, 70]]}, "the youngest is older than the oldest"),
        ({"ages": [[18.5, 30], [18, 70]]}, "ages.0.0 = 18.5"),
    ):
        with pytest.raises(ReplyMistakeError, match=message):
            read_scenario(reply({**PLACE, **change}))


@pytest.mark.parametrize("text", ["for $60.", "for $60.00, please", "$60", "at $1,060 or $60"])
def test_a_sentence_keeps_its_price(text: str) -> None:
    assert read_sentence(("$60",))(reply({"sentence": text})) == text


@pytest.mark.parametrize("text", ["for $600", "for $60.5", "for 60", "sixty"])
def test_a_sentence_that_has_lost_its_price_is_told(text: str) -> None:
    with pytest.raises(ReplyMistakeError, match=r"the sentence has lost \$60"):
        read_sentence(("$60",))(reply({"sentence": text}))
    assert read_sentence(("$1547.95",))(reply({"sentence": "You want $1,547.95 for it."}))


HEAD = "title,description,price,buyer_price"


def file(tmp_path: Path, text: str, name: str = "f.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_vignettes_are_lines_or_a_column(tmp_path: Path) -> None:
    assert read_vignettes(file(tmp_path, "one\n\n two \n", "f.txt")) == (
        Vignette("one", "f.txt, line 1"),
        Vignette("two", "f.txt, line 3"),
    )
    table = file(tmp_path, 'source,vignette\nx,"a, b"\n')
    assert read_vignettes(table) == (Vignette("a, b", "f.csv, line 2", "x"),)
    assert read_vignettes(file(tmp_path, "vignette\na\n"))[0].source == ""


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("\n", "f.txt", "f.txt: "),
        ("a\n", "f.csv", "no column 'vignette'"),
        ("vignette\n", "f.csv", "no vignette; write one a line"),
        ("vignette,source\n,x\n", "f.csv", "f.csv, line 2: vignette is empty"),
        ("x" * 5000, "f.txt", "f.txt, line 1: 5,000 characters; at most 4,000"),
        ("vignette\n" + "x" * 5000, "f.csv", "f.csv, line 2: 5,000 characters"),
    ],
)
def test_what_is_no_vignette_is_named(tmp_path: Path, text: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_vignettes(file(tmp_path, text, name))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("boat,,10,7", "line 2: description is empty"),
        ("boat,old,ten,7", "line 2: price: 'ten'; a price in dollars is needed"),
        ("boat,old,0,7", "line 2: price is 0; a price is above 0"),
        ("boat,old,10,1e12", "line 2: buyer_price is 1e[+]12"),
        ("boat,old,10", "3 cells"),
        ("", "no item"),
    ],
)
def test_what_is_no_item_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_items(file(tmp_path, f"{HEAD}\n{row}\n"))


def test_limits_stand_together_and_below_what_is_hoped_for(tmp_path: Path) -> None:
    head = f"{HEAD},seller_least,buyer_most"
    with pytest.raises(InputError, match="seller_least and buyer_most are given both or not at all"):
        read_items(file(tmp_path, f"{head}\nboat,old,10,7,1,\n"))
    with pytest.raises(InputError, match="buyer_most 7 is not above buyer_price 7"):
        read_items(file(tmp_path, f"{head}\nboat,old,10,7,1,7\n"))
    with pytest.raises(InputError, match=r"must end in .csv or .tsv"):
        read_items(file(tmp_path, "x", "f.txt"))
