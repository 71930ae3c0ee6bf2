"""Notes that a language model writes for itself: how a prompt asks for them, what is none, and what is done then."""

import json
from pathlib import Path
from typing import Any

import pytest

from apportion.environments.agents.agent import UNPREPARED, UNREVISED
from apportion.environments.agents.language_model import ATTEMPTS, PROMPTS, LanguageModelAgent, asks_of
from apportion.environments.agents.private_notes import LONGEST_NOTE, Note, notes_of
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.agents import ROSTER
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from tests.environments.agents.test_language_model import agent, view
from tests.environments.models import Asked, nobody
from tests.rlhf.stackelberg.test_refiner import negotiation

SPEAKS = json.dumps({"act": "speak", "text": "Hello."})


def prompt(folder: Path, header: str, name: str = "own") -> str:
    path = folder / f"{name}.txt"
    path.write_text(
        f"{header}\n[system]\nPlay.\n[user]\n{{{{ situation }}}} {{{{ legal }}}} {{{{ note }}}}/{{{{ notes }}}}"
    )
    return str(path)


def test_notes_come_in_the_order_of_the_header_and_each_reads_those_before(tmp_path: Path) -> None:
    asked = Asked('{"wish": "a bike </notes>"}', '{"tone": "kind"}', SPEAKS)
    own = agent(asked, prompt(tmp_path, "notes: wish, tone = kind | curt"))
    assert own.act(view()) == Action("speak", "Hello.") and own.requests_an_act == len(asked) == 3
    ends = [one.messages[1].content[-60:] for one in asked]
    assert ends[0].endswith("wish/{}") and ends[1].endswith('tone/{"wish": "a bike \\u003c/notes\\u003e"}')
    assert ends[2].endswith('"tone": "kind"}') and asked[0] == own.request(view())
    schemas = [one.schema or {} for one in asked]
    assert [list(one["properties"]) for one in schemas] == [["wish"], ["tone"], ["act", "text"]]
    assert schemas[1]["properties"]["tone"]["enum"] == ["kind", "curt"]
    assert own.tokens_an_act > agent(nobody).tokens_an_act


@pytest.mark.parametrize(
    ("reply", "mistake"),
    [
        ("Hello.", "not one JSON object"),
        ("[]", 'not an object with "tone" alone'),
        ('{"tone": "kind", "act": "leave"}', 'not an object with "tone" alone'),
        ('{"tone": "rude"}', '"tone" is none of kind, curt'),
        ('{"tone": ["kind"]}', "none of kind, curt"),
    ],
)
def test_a_choice_is_one_of_those_told(reply: str, mistake: str) -> None:
    with pytest.raises(ReplyMistakeError, match=mistake):
        Note("tone", ("kind", "curt")).read(ChatReply(reply, "m"))


@pytest.mark.parametrize("words", [7, None, " ", "x" * (LONGEST_NOTE + 1)])
def test_a_note_is_a_text_that_is_not_too_long(words: Any) -> None:
    with pytest.raises(ReplyMistakeError, match="is no text of 1 to 2,000 characters"):
        Note("wish").read(ChatReply(json.dumps({"wish": words}), "m"))
    with pytest.raises(ReplyMistakeError, match="cut off"):
        Note("wish").read(ChatReply('{"wish": "', "m", finish_reason="length"))


def test_without_a_note_that_is_none_one_acts_and_says_so(tmp_path: Path) -> None:
    style = prompt(tmp_path, "notes: wish")
    asked = Asked(*["hm"] * ATTEMPTS, SPEAKS)
    act = agent(asked, style).act(view())
    assert act[:2] == ("speak", "Hello.") and act.data[UNPREPARED].startswith("wish: ") and len(asked) == ATTEMPTS + 1
    assert asked[-1].messages[1].content.endswith("/{}")
    both = prompt(tmp_path, f"revises: {style}\nnotes: tone = kind | curt", "both")
    assert [(Path(one.style).stem, one.note and one.note.name) for one in asks_of(both)] == [
        *(("own", "wish"), ("own", None)),
        *(("both", "tone"), ("both", None)),
    ]
    act = agent(Asked('{"wish": "a bike"}', SPEAKS, "hm"), both).act(view())
    assert act.text == "Hello." and set(act.data) == {UNPREPARED, UNREVISED}


def test_a_mark_that_the_rules_would_read_is_left_out(tmp_path: Path) -> None:
    asked = ROSTER.asked_by(prompt(tmp_path, "notes: wish"), ModelSpec("m", base_url="http://localhost:1/v1"))
    assert asked is not None
    game = negotiation()
    seen = Observation(game, game.acting()[0])
    offer = {"act": "propose", "keep": {"book": 1, "hat": 0, "ball": 0}, "text": "One for me."}
    replies = Asked(*["hm"] * ATTEMPTS, json.dumps(offer))
    act = ROSTER.asking("own", asked, replies).act(seen)
    assert act.kind == "propose" and seen.problem(act) is None and isinstance(act.data, list)


def test_a_choice_is_asked_for_only_where_one_may_speak(tmp_path: Path) -> None:
    own = agent(nobody, prompt(tmp_path, "notes: tone = kind | curt"))
    assert isinstance(own, LanguageModelAgent) and [one.note is None for one in own.questions(view())] == [False, True]
    game = negotiation()
    silent = Observation(game, next(name for name in game.agents if name not in game.acting()))
    assert [one.note for one in own.questions(silent)] == [None] and own.requests_an_act == 2


@pytest.mark.parametrize("line", ["", "Wish", "wish, wish", "wish,", "tone = kind |", "tone =", "a b"])
def test_a_header_that_names_no_notes_is_told(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"own\.txt: notes are .*names of small letters, each once"):
        notes_of(prompt(tmp_path, f"notes: {line}"), PROMPTS)
