"""A person answers questions at a terminal, one after the other, as if it were their turn in a game."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.action_encoding import act_code, act_of, split_code
from apportion.environments.negotiation.contexts import Counts
from apportion.environments.negotiation.expert_queries.question import Question
from apportion.environments.negotiation.expert_queries.queue import Answer, Queue
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.observation import SELECT
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import locked

_BY = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True)
class Annotated:
    """How many questions were answered in this sitting, and how many are left."""

    answered: int
    left: int


class OneAct(NegotiationRenderer):
    """A negotiation of which the person does one act; what is typed is an act by itself, and no words are kept."""

    def understood(self, view: Observation, act: Action) -> Action:
        """The act without its words: who learns reads none."""
        understood = super().understood(view, act)
        return understood._replace(text="")


def annotate(folder: Path, by: str, screen: Screen) -> Annotated:
    """Ask somebody everything that nobody has answered, until nothing is left or they stop.

    Each answer is on the disk before the next question is shown: stopped or killed at any moment, the same call goes
    on, and nothing is asked twice.

    ``folder``: A `Queue`. ``by``: An id of who answers; nothing else is kept of them. ``screen``: Where the person
    reads and types. Raises InputError: There is no queue, it is damaged, the id cannot be used, or somebody answers at
    another terminal.
    """
    if not _BY.fullmatch(by):
        raise InputError(f"annotator {by!r:.80}: an id of 1 to 40 letters, digits, dots, hyphens or underscores")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. Name the one to which the training asks")
    queue = Queue(folder)
    with locked(folder / ".answers.lock", f"somebody answers the questions of {folder} already", InputError):
        waiting = queue.open_questions()
        answered = 0
        for number, question in enumerate(waiting, 1):
            screen.show("")
            screen.show(f"===== question {number} of {len(waiting)} =====")
            try:
                act = HumanAgent(screen, OneAct(), by).act(_view(question))
            except EOFError:
                break
            queue.answer(Answer(question, _number(act), by))
            answered += 1
        return Annotated(answered, len(waiting) - answered)


def _view(question: Question) -> Observation:
    """The game of a question, as its seat sees it; what it does not tell is made up, and shown nowhere."""
    game = Negotiation(question.context, question.most_acts)
    for seed in count():
        game.reset(seed)
        if game.starter == question.starter:
            break
    for code in question.acts:
        kind, kept = act_of(code)
        game.do(Action(kind, "", None if kept is None else list(kept)))
    return Observation(game, game.agents[question.seat])


def _number(act: Action) -> int:
    kept = None if act.data is None else _counts(act.data)
    return split_code(kept) if act.kind == SELECT and kept is not None else act_code(act.kind, kept)


def _counts(data: list[int]) -> Counts:
    first, second, third = data
    return first, second, third
