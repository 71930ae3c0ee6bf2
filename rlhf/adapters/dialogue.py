"""A conversation that a policy has with the other side of a recorded one, each turn paid as it is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apportion.llm_client.prompts.strict_json import answer_of
from apportion.rlhf.adapters.scoring import Message, Scorer


class Dialogue:
    """The policy answers ``prompt``; the other side says what it said in the record, whatever the policy has said.

    - ``prompt``: Messages of role and content. ``replies``: What the other side says after each turn of the policy; one
      that asks a live partner is an iterator. ``most_turns``: Of the policy; None: until there is no reply.
    """

    def __init__(
        self, scorer: Scorer, prompt: Iterable[Message], replies: Iterable[str] = (), most_turns: int | None = None
    ) -> None:
        self.messages: list[dict[str, Any]] = [dict(message) for message in prompt]
        self.rewards: list[float] = []
        self._scorer, self._replies, self._most = scorer, iter(replies), most_turns

    def say(self, text: str) -> tuple[float, str | None]:
        """The reward of a turn of the policy, and what the other side answers; None: the conversation is over.

        A turn in which nothing is said gets 0; what a model reasons first is not said.
        """
        said = {"role": "assistant", "content": answer_of(text)}
        turns = self._scorer.turns([self.messages], [[said]]) if said["content"] else []
        self.rewards.append(sum(sum(of.advantage) for of in turns))
        self.messages.append(said)
        over = self._most is not None and len(self.rewards) >= self._most
        heard = None if over else next(self._replies, None)
        if heard is not None:
            self.messages.append({"role": "user", "content": heard})
        return self.rewards[-1], heard
