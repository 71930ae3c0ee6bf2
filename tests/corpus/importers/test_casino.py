import copy
import json

import pytest

from apportion.corpus.importers import import_to
from apportion.corpus.importers.casino import import_corpus
from apportion.foundation.errors import InputError
from tests.shared import shared


def person(high, medium, low, points, satisfaction="Undecided", likeness="Slightly like"):
    wants = {"High": high, "Medium": medium, "Low": low}
    return {
        "value2issue": wants,
        "value2reason": {level: f"I need {issue}." for level, issue in wants.items()},
        "outcomes": {"points_scored": points, "satisfaction": satisfaction, "opponent_likeness": likeness},
        "demographics": {"age": 36, "gender": "female"},
        "personality": {"svo": "prosocial", "big-five": {"extraversion": 2.0}},
    }


def said(who, text, **data):
    return {"id": who, "text": text, "task_data": data}


DEAL = {
    "issue2youget": {"Food": "3", "Water": "1", "Firewood": "0"},
    "issue2theyget": {"Food": "0", "Water": "2", "Firewood": "3"},
}
DIALOGUE = {
    "dialogue_id": 7,
    "chat_logs": [
        said("ann", "Hello! I need food."),
        said("bob", "Take it."),
        said("ann", "Submit-Deal", **DEAL),
        said("bob", "Accept-Deal", data="accept_deal"),
    ],
    "participant_info": {
        # Ann: 3 x 5 + 1 x 4; Bob: 3 x 5 + 2 x 4.
        "ann": person("Food", "Water", "Firewood", 19, "Extremely satisfied"),
        "bob": person("Firewood", "Water", "Food", 23, likeness="Extremely dislike"),
    },
}


def imported(tmp_path, *dialogues, **options):
    (tmp_path / "casino_test.json").write_text(json.dumps(dialogues))
    return import_corpus(tmp_path / "casino_test.json", options)


def changed(*path, to):
    dialogue = {**copy.deepcopy(DIALOGUE), "dialogue_id": 8}
    place = dialogue
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return dialogue


def test_a_dialogue_with_what_both_thought_of_it(tmp_path):
    new = imported(tmp_path, DIALOGUE)
    rated = {(r["rater"], r["target"], r["name"]): r["score"] for r in new.tables["ratings"].to_pylist()}
    assert rated == {
        ("environment", "ann", "points"): 19.0,
        ("environment", "ann", "advantage"): -4.0,
        ("environment", "bob", "points"): 23.0,
        ("environment", "bob", "advantage"): 4.0,
        ("ann", "bob", "satisfaction"): 5.0,
        ("ann", "bob", "opponent_likeness"): 4.0,
        ("bob", "ann", "satisfaction"): 3.0,
        ("bob", "ann", "opponent_likeness"): 1.0,
    }
    assert new.tables["utterances"].column("text").to_pylist()[2:] == [
        "[Submit-Deal] I get 3 Food, 1 Water, 0 Firewood; you get 0 Food, 2 Water, 3 Firewood",
        "[Accept-Deal]",
    ]
    goals = {r["speaker"]: r["text"] for r in new.tables["backgrounds"].to_pylist() if r["kind"] == "goal"}
    assert goals["ann"].startswith("Food: 5 points a package. I need Food.") and "CC BY 4.0" in new.notes[0]
    assert new.tables["sessions"].to_pylist()[0]["source"] == "casino/casino_test"


def test_buttons_and_profiles_by_option(tmp_path):
    assert imported(tmp_path, DIALOGUE, buttons="named").tables["utterances"]["text"].to_pylist()[2:] == [
        "Submit-Deal",
        "Accept-Deal",
    ]
    assert imported(tmp_path, DIALOGUE, buttons="none").tables["utterances"].num_rows == 2
    kinds = imported(tmp_path, DIALOGUE, people="yes").tables["backgrounds"].to_pylist()
    assert [r["text"] for r in kinds if r["kind"] == "profile"] == [
        "age: 36; gender: female; extraversion: 2.0; social value orientation: prosocial"
    ] * 2
    assert "36" not in str(imported(tmp_path, DIALOGUE).tables["backgrounds"].to_pylist()).replace("36 ", "")
    with pytest.raises(InputError, match="option buttons=non: did you mean 'none'"):
        imported(tmp_path, DIALOGUE, buttons="non")


def test_who_says_nothing_has_no_ratings(tmp_path):
    silent = changed("chat_logs", to=[said("ann", "Bye."), said("bob", "Walk-Away", data="walk_away")])
    for name in ("ann", "bob"):
        silent["participant_info"][name]["outcomes"]["points_scored"] = 5
    ratings = imported(tmp_path, silent, buttons="none").tables["ratings"].to_pylist()
    assert {(r["rater"], r["target"]) for r in ratings} == {("environment", "ann")}
    assert {r["name"]: r["score"] for r in ratings} == {"points": 5.0, "advantage": 0.0}


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (changed("participant_info", "ann", "outcomes", "points_scored", to=18), "ann has 18 points in the file, and"),
        (changed("chat_logs", 2, "task_data", "issue2youget", "Food", to="4"), "gives 4 and 0 of 3 packages of Food"),
        (changed("chat_logs", 1, to=said("bob", "Submit-Deal")), "it has no 'issue2youget'"),
        (changed("chat_logs", 3, "text", to="Reject-Deal"), "nobody walks away, and no deal"),
        (changed("chat_logs", 3, "id", to="ann"), "no deal that the other submitted is accepted"),
        (changed("chat_logs", 1, "id", to="eve"), "'eve' speaks and is none of ann, bob"),
        (changed("chat_logs", 1, "text", to=" "), "a text is needed"),
        (changed("participant_info", "bob", "value2issue", "Low", to="Gold"), "it has to name Food, Water, Firewood"),
        (changed("participant_info", "bob", "outcomes", "satisfaction", to="Happy"), "'Happy': allowed are Extremely"),
        (changed("participant_info", to={"ann": person("Food", "Water", "Firewood", 5)}), "has 1 people"),
        (changed("participant_info", to=3), "not in CaSiNo's shape"),
        (changed("dialogue_id", to=7), "this dialogue_id is there already"),
    ],
)
def test_a_broken_dialogue_is_named_and_left_out(tmp_path, broken, why):
    new = imported(tmp_path, DIALOGUE, broken)
    (left_out,) = new.left_out
    assert why in left_out.message and "casino_test.json, item 2" in left_out.message
    assert new.tables["sessions"].num_rows == 1


def test_another_file(tmp_path):
    (tmp_path / "a.json").write_text('[{"messages": []}]')
    with pytest.raises(InputError, match="no object has 'chat_logs': not CaSiNo"):
        import_corpus(tmp_path / "a.json", {})


def test_the_points_of_all_who_took_part_are_those_that_were_recorded(tmp_path):
    report = import_to("casino", shared("data/casino/casino_test.json.gz").parent, tmp_path / "corpus")
    # A session whose computed points are others is left out.
    assert report.rows["sessions"] == 1030 and report.rows["ratings"] == 1030 * 2 * 4
    assert report.left_out == () and report.problems == ()
    assert "licence: CC BY 4.0" in report.notes[0]
    texts = import_corpus(shared("data/casino"), {}).tables["utterances"]["text"].to_pylist()
    assert texts.count("[Accept-Deal]") == 1005 and texts.count("[Walk-Away]") == 25
