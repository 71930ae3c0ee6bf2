"""A script whose acts a language model puts into words; what counts stays the script's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import ATTEMPTS, TOKENS_AN_ACT
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.act_parser import parse
from apportion.environments.negotiation.action_encoding import SPLITS
from apportion.environments.negotiation.contexts import Counts
from apportion.environments.negotiation.observation import SELECT, PrivateInformation, number_of
from apportion.environments.negotiation.realization import sentence
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings

WORDED = "~"
"""Behind a script's name: ``conceding~`` and ``conceding~@MODEL`` are worded."""
WORDING = "wording"
"""The prompt's name."""
_SCHEMA = object_schema({"text": {"type": "string"}})
PROMPTS = PromptKind(
    folder=Path(__file__).parent / "wordings",
    entry_points="apportion.negotiation_wordings",
    setting="wording",
    header=("title",),
    blanks=frozenset({"act", "heard"}),
    needed=("act", "heard"),
    form="A prompt is a header (title), then [system] and [user]; see docs/guides/worlds.md",
)


@dataclass(frozen=True)
class LLMVerbalizedAgent:
    """Does what a script does, in the words of a language model, which knows the act and what was said before.

    It is shown no values, so that its words give none away. Words that `act_parser` reads as another act are not used:
    after `ATTEMPTS` of these the script's own sentence stands.

    ``called``: What it is called in logs and corpora. ``script``: Who decides. ``settings``: The model. ``complete``:
    Asks it (`apportion.llm_client.session.LLMSession.complete`).
    """

    called: str
    script: Agent
    settings: LLMSettings
    complete: Complete
    paid: bool = True
    requests_an_act: int = 1
    tokens_an_act: int = TOKENS_AN_ACT

    def act(self, view: Observation) -> Action:
        """The script's act, worded; a selection has no words.

        Raises InputError: No request can succeed until a person changes something. Raises StoppedError: The budget is
        used up. Raises UnitError: The server failed.
        """
        act = self.script.act(view)
        if act.kind == SELECT:
            return act
        facts: PrivateInformation = view.facts
        try:
            text = ask_until_usable(
                self.complete, self._request(view, act), lambda reply: read_words(reply, act, facts.counts), ATTEMPTS
            )
        except NoUsableReplyError:
            return act
        return act._replace(text=text)

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first for the next act; where it is not the agent's turn, for a proposal to keep everything."""
        facts: PrivateInformation = view.facts
        everything = Action("propose", "", list(facts.counts))
        return self._request(view, self.script.act(view) if view.legal else everything)

    def _request(self, view: Observation, act: Action) -> ChatRequest:
        facts: PrivateInformation = view.facts
        who = {facts.seat: "you", 1 - facts.seat: "the other"}
        heard = "\n".join(f"{who[seat]}: {data_json(done.text)}" for seat, done in facts.heard) or "nothing yet"
        blanks = {"act": sentence(number_of(act), facts.counts), "heard": heard}
        return ChatRequest(
            **self.settings.asking,
            messages=PROMPTS.messages(WORDING, blanks),
            schema=_SCHEMA,
            sample=view.number,
            subject=f"{self.called} as {view.agent!r}, step {view.step}",
        )


def read_words(reply: ChatReply, act: Action, counts: Counts) -> str:
    """The words of a reply.

    Raises ReplyMistakeError: The reply cannot be used, or its words do something else than the act.
    """
    document = reply_json(reply, "say less")
    if not isinstance(document, dict) or document.keys() != {"text"} or not isinstance(document["text"], str):
        raise ReplyMistakeError('the reply is not an object with "text"')
    text = document["text"].strip()
    kind, split = parse(text, counts)
    if (kind, split) != (act.kind, None if act.data is None else number_of(act) % SPLITS):
        meant = sentence(number_of(act), counts)
        raise ReplyMistakeError(
            f"the words do not say the act as plainly as {data_json(meant)}: name what you keep and what you leave by "
            "number, and nothing else of the kind"
        )
    return text
