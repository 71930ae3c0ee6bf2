"""A language model as the judge of two responses, asked in both orders so that the first place is worth nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.foundation.safe_text import whole_text
from apportion.llm_client.many_requests import ask_each
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import ANOTHER_MODEL, Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.compare.pairs import AnonymizedPair, Pair
from apportion.rlhf.compare.responses import messages_of, speaker_of
from apportion.rlhf.compare.win_rate import LOSS, TIE, WIN, Verdict

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="",
    setting="judge",
    header=(),
    blanks=frozenset({"conversation", "first", "second"}),
    needed=("conversation", "first", "second"),
    form="A judge's prompt is [system] and [user] with the conversation and two responses",
)
ANSWERS = ("first", "second", "tie")
REPLY_SCHEMA = object_schema({"reason": {"type": "string"}, "better": {"type": "string", "enum": list(ANSWERS)}})
ATTEMPTS = 3
"""Times a judge is asked, its mistake shown to it, before a pair is given up."""
LONGEST_REASON = 500
TOKENS_A_REPLY = 45
"""About what a verdict with a reason of 20 words takes as JSON."""


@dataclass
class JudgeResult:
    """Verdicts in the order of the pairs, and the pairs that could not be judged, with why."""

    verdicts: list[Verdict] = field(default_factory=list)
    failed: list[tuple[Pair, str]] = field(default_factory=list)

    @property
    def unanswered(self) -> set[tuple[str, str]]:
        """Every two policies on which each question failed; what is left of them is pairs of equal text."""
        answered = {_policies(verdict.pair) for verdict in self.verdicts if verdict.answers}
        return {_policies(pair) for pair, _ in self.failed} - answered

    @property
    def counted(self) -> list[Verdict]:
        """The verdicts that a win rate is made of."""
        return [verdict for verdict in self.verdicts if _policies(verdict.pair) not in self.unanswered]

    @property
    def disagreements(self) -> int:
        """Pairs on which the two orders named different responses: ties that say something of the judge."""
        return sum(set(verdict.answers) in ({"first"}, {"second"}) for verdict in self.verdicts)

    @property
    def first_share(self) -> float | None:
        """The share of decided answers that named the first place; 0.5 is a judge that the order does not move."""
        decided = [answer for verdict in self.verdicts for answer in verdict.answers if answer != "tie"]
        return decided.count("first") / len(decided) if decided else None

    def notes(self, name: str) -> list[str]:
        """What has to be said of the figures of the judge ``name``."""
        asked = sum(bool(verdict.answers) for verdict in self.verdicts)
        same, failed = len(self.verdicts) - asked, len(self.failed)
        share = self.first_share
        moved = "" if share is None else f"; {share:.0%} of its decided answers named the response shown first"
        notes = [
            f"{name} was asked about each pair in both orders; on {self.disagreements:,} of {asked:,} pairs the two "
            f"named different responses, which makes a tie{moved}."
        ]
        if same:
            notes.append(f"{same:,} pairs are the same text: ties that {name} was not asked about.")
        if failed:
            more = " Ties of the same text weigh the more." if same else ""
            notes.append(f"{name} gave no usable answer on {failed:,} pairs, which are left out.{more}")
        notes += [
            f"There is no win rate of {left} against {right} by {name}: it answered no question about them."
            for left, right in sorted(self.unanswered)
        ]
        return notes

    def under_real_names(self, shown: Mapping[Pair, AnonymizedPair | None]) -> JudgeResult:
        """The same of the pairs as they are; ``shown`` has what the judge was shown in the place of each."""
        real = {other.pair: (pair, other.renaming) for pair, other in shown.items() if other is not None}

        def back(verdict: Verdict) -> Verdict:
            if verdict.pair not in real:
                return verdict
            pair, names = real[verdict.pair]
            return replace(verdict, pair=pair, reasons=tuple(names.back(reason) for reason in verdict.reasons))

        failed = [(real[pair][0] if pair in real else pair, cause) for pair, cause in self.failed]
        return JudgeResult([back(verdict) for verdict in self.verdicts], failed)


def _policies(pair: Pair) -> tuple[str, str]:
    return pair.left, pair.right


def requests_for(pair: Pair, settings: LLMSettings) -> tuple[ChatRequest, ...]:
    """The pair in both orders, ``left`` first to begin with; none where the responses are the same."""
    if pair.same:
        return ()
    orders = ((pair.left_text, pair.right_text), (pair.right_text, pair.left_text))
    return tuple(
        ChatRequest(
            **settings.asking,
            messages=_messages(pair.context, *texts),
            schema=REPLY_SCHEMA,
            subject=f"{pair.place}, {pair.left} and {pair.right}, order {number}",
        )
        for number, texts in enumerate(orders, 1)
    )


def judge(pairs: Sequence[Pair], settings: LLMSettings, complete: Complete, progress: Progress) -> JudgeResult:
    """Ask for every pair in both orders; a pair that fails is recorded and the others go on.

    A response wins where both orders name it; everything else is a tie.
    """
    outcomes = ask_each(
        lambda pair: _verdict(pair, settings, complete),
        pairs,
        settings.concurrency,
        lambda done, pair: progress(done, len(pairs), pair.place),
    )
    judged = JudgeResult()
    for pair, outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, UnitError):
            judged.failed.append((pair, str(outcome)))
        else:
            judged.verdicts.append(outcome)
    return judged


def read_reply(reply: ChatReply) -> tuple[str, str]:
    """(which is better, why) of a judge's reply."""
    document = reply_json(reply, "give a shorter reason")
    if not isinstance(document, dict) or document.get("better") not in ANSWERS:
        raise ReplyMistakeError('the reply is not an object whose "better" is "first", "second" or "tie"')
    reason = document.get("reason")
    return str(document["better"]), whole_text(reason[:LONGEST_REASON]) if isinstance(reason, str) else ""


def _verdict(pair: Pair, settings: LLMSettings, complete: Complete) -> Verdict:
    if pair.same:
        return Verdict(pair, TIE)
    replies = [
        ask_until_usable(complete, request, read_reply, ATTEMPTS, remedy=ANOTHER_MODEL)
        for request in requests_for(pair, settings)
    ]
    answers = tuple(answer for answer, _ in replies)
    outcome = WIN if answers == ("first", "second") else LOSS if answers == ("second", "first") else TIE
    return Verdict(pair, outcome, answers, tuple(reason for _, reason in replies))


def _messages(context: str, first: str, second: str) -> tuple[ChatMessage, ...]:
    lines = [data_json({"speaker": speaker_of(said), "text": said.text}) for said in messages_of(context)]
    blanks = {
        "conversation": "[\n" + ",\n".join(lines) + "\n]",
        "first": data_json({"text": first}),
        "second": data_json({"text": second}),
    }
    return PROMPTS.messages("judge", blanks)


def verdict_rows(judge_name: str, verdicts: Sequence[Verdict]) -> list[Mapping[str, Any]]:
    """Verdicts as plain rows, for a file of them."""
    outcomes = {WIN: "left", TIE: "tie", LOSS: "right"}
    return [
        {
            "judge": judge_name,
            "session_id": verdict.pair.session_id,
            "turn": verdict.pair.turn,
            "seed": verdict.pair.seed,
            "left": verdict.pair.left,
            "right": verdict.pair.right,
            "better": outcomes[verdict.outcome],
            "answers": list(verdict.answers),
            "reasons": list(verdict.reasons),
        }
        for verdict in verdicts
    ]
