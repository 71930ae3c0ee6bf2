"""What a language model writes for itself before it acts: notes that nobody else reads, one request each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from apportion.environments.environment import Observation
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json
from apportion.llm_client.request import ChatReply

TOKENS_A_NOTE = 200
"""About what a note takes as JSON: prompts ask for 150 words at most (28 of Claude took 87 on average, 151 at most)."""
LONGEST_NOTE = 2_000
"""Characters; of a thought, too."""
_NAME = re.compile(r"[a-z]+")


class Note(NamedTuple):
    """One note: what it is called, and of what it is chosen (empty: the model's own words)."""

    name: str
    choices: tuple[str, ...] = ()

    def asked_for(self, view: Observation) -> bool:
        """Whether it is written before this act: a choice is of how to speak, and is made where one may."""
        return not self.choices or not view.speeches.isdisjoint(view.legal)

    @property
    def schema(self) -> Mapping[str, Any]:
        """Of the reply: an object with the note alone."""
        words = {"type": "string", **({"enum": list(self.choices)} if self.choices else {"maxLength": LONGEST_NOTE})}
        return object_schema({self.name: words})

    def read(self, reply: ChatReply) -> str:
        """The note of a reply.

        Raises ReplyMistakeError: it cannot be used; the text says why, in no word of the note: it stands in a log.
        """
        document = reply_json(reply, "say less")
        if not isinstance(document, dict) or document.keys() != {self.name}:
            raise ReplyMistakeError(f'the reply is not an object with "{self.name}" alone')
        words = document[self.name]
        if self.choices and words not in self.choices:
            raise ReplyMistakeError(f'"{self.name}" is none of {", ".join(self.choices)}')
        if not isinstance(words, str) or not words.strip() or len(words) > LONGEST_NOTE:
            raise ReplyMistakeError(f'"{self.name}" is no text of 1 to {LONGEST_NOTE:,} characters; give one')
        return words.strip()


def notes_of(style: str, prompts: PromptKind) -> tuple[Note, ...]:
    """The notes of a prompt's header, in the order of writing: ``notes: belief, tactic = attack | defend``.

    Raises InputError: there is no such prompt, it cannot be used, or the line names no notes, or one twice.
    """
    line = prompts.header_of(style).get("notes")
    if line is None:
        return ()
    notes = []
    for part in line.split(","):
        name, chosen, choices = part.partition("=")
        notes.append(Note(name.strip(), tuple(one.strip() for one in choices.split("|")) if chosen else ()))
    names = [note.name for note in notes]
    bare = [note for note in notes if not _NAME.fullmatch(note.name) or not all(note.choices)]
    if bare or len(set(names)) < len(names):
        raise prompts.unusable(
            prompts.find(style),
            f"notes are {line!r}; give names of small letters, each once, with commas between; choices as NAME = A | B",
        )
    return tuple(notes)
