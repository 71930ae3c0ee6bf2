"""Prompts that are no turns of a corpus, from a file or from Python."""

import json

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.policy.prompts import prompt_episodes, read_prompts
from tests.rlhf.toy import QUESTIONS, no_history, small_policy

TALK = {"messages": [{"role": "user", "content": QUESTIONS[0]}, {"role": "assistant", "content": "at nine"},
                     {"role": "user", "content": QUESTIONS[1]}], "id": "second"}  # fmt: skip


def contexts(episodes, **window):
    given = {"context_turns": 3, "max_context_tokens": 64, "last_alone": True, **window}
    return make_contexts(episodes, small_policy().tokenizer, no_history, **given)


def test_each_prompt_is_answered_once_whatever_was_said_before(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(f"\ufeff{json.dumps({'prompt': QUESTIONS[2]})}\n\n{json.dumps(TALK)}\n", encoding="utf-8")
    made = contexts(read_prompts(path))
    assert [(context.session_id, context.turn) for context in made.contexts] == [("prompt-1", 1), ("second", 3)]
    assert [[said.text for said in context.messages] for context in made.contexts] == [
        [QUESTIONS[2]],
        [QUESTIONS[0], "at nine", QUESTIONS[1]],
    ]
    assert [context.history for context in made.contexts] == ["prompt-1 1", "second 3"]
    assert len(contexts(prompt_episodes([TALK]), last_alone=False).contexts) == 2


def test_a_line_of_a_file_ends_where_json_lines_end_it(tmp_path):
    path = tmp_path / "prompts.jsonl"
    said = "One.\u2028Two.\x85Three."
    path.write_bytes(f"{json.dumps({'prompt': said}, ensure_ascii=False)}\r\n{json.dumps(TALK)}\r\n".encode())
    assert [episode.turns[0].text for episode in read_prompts(path)] == [said, QUESTIONS[0]]


def test_any_iterable_of_prompts_will_do():
    made = prompt_episodes({"prompt": f"say {number}"} for number in range(3))
    assert [episode.turns[0].text for episode in made] == ["say 0", "say 1", "say 2"]
    assert {episode.rating.target for episode in made} == {"assistant"} and not any(e.is_rated for e in made)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, r"no or both of 'prompt' and 'messages'; give \{\"prompt\""),
        ([], "its id is ''"),
        ({"messages": []}, r"its messages are '\[\]'"),
        ({"prompt": "  "}, r"message 1: its content is '  '; a text is needed"),
        ({"prompt": 3}, "message 1: its content is '3'"),
        (
            {"messages": [{"role": "system", "content": "a"}]},
            "its role is 'system'; allowed are 'user' and 'assistant'",
        ),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "'assistant' has the last word"),
        ({"prompt": "a", "id": None}, "its id is None; give a text or a whole number"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_told_with_its_place(row, problem):
    with pytest.raises(InputError, match=rf"^prompts, prompt 2.*{problem}"):
        prompt_episodes([{"prompt": "fine"}, row])


def test_two_of_one_id_and_none_at_all():
    with pytest.raises(InputError, match="prompt 2: the id 'x' is another prompt's"):
        prompt_episodes([{"prompt": "a", "id": "x"}, {"prompt": "b", "id": "x"}])
    with pytest.raises(InputError, match="no prompt in it"):
        prompt_episodes([])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"prompt": "a"}\n{"prompt"', r"prompts\.jsonl, line 2: not JSON"),
        ('"a"\n', r"line 1: 'a' is no JSON object"),
        ("", "no prompt in it"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, problem):
    path = tmp_path / "prompts.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_prompts(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read \(No such file"):
        read_prompts(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"prompt": "\xe9"}')
    with pytest.raises(InputError, match=r"latin\.jsonl: cannot be read .*Name a JSON Lines file of prompts"):
        read_prompts(tmp_path / "latin.jsonl")
