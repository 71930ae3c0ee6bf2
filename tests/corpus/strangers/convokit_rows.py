"""Faults of ConvoKit folders: what is out of order, stamps that are text, and languages that nobody named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from apportion.corpus.corpus import Corpus
from tests.corpus.languages.chats import dialogue
from tests.corpus.strangers.row import Row

Utterance = tuple[str, object, str | None]
"""Its id, its timestamp, and what it replies to."""
SCORED = ["-o", "score=s", "-o", "low=1", "-o", "high=5"]


def folder(*spoken: Utterance, texts: Sequence[str] = (), **meta: object) -> Callable[[Path], list[str]]:
    """One conversation of two, rated by who speaks first."""

    def write(path: Path) -> list[str]:
        lines = []
        for at, (id_, stamp, reply) in enumerate(spoken):
            speaker = "ann" if id_ in "ace" else "bob"
            text = texts[at] if texts else f"text {id_}"
            row = {"id": id_, "conversation_id": "k", "speaker": speaker, "text": text, "meta": {}}
            lines.append(json.dumps({**row, "timestamp": stamp, "reply-to": reply}, ensure_ascii=False))
        (path / "utterances.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (path / "conversations.json").write_text(json.dumps({"k": {"meta": {"s": 3, **meta}}}), encoding="utf-8")
        (path / "speakers.json").write_text(json.dumps({"ann": {"meta": {}}, "bob": {"meta": {}}}), encoding="utf-8")
        return ["convokit", str(path), *SCORED]

    return write


def rated_in_order(order: str) -> Callable[[Corpus], bool]:
    """The turns are in this order, and ann has rated bob."""

    def holds(corpus: Corpus) -> bool:
        session = corpus.session("k")
        (rating,) = session.ratings
        return "".join(turn.text[-1] for turn in session.turns) == order and (rating.rater, rating.target) == (
            "ann",
            "bob",
        )

    return holds


def in_language(language: str) -> Callable[[Corpus], bool]:
    return lambda corpus: corpus.session("k").language == language


def talk(language: str) -> Callable[[Path], list[str]]:
    said = dialogue(language, 3, turns=4)
    spoken = [(id_, at, "abc"[at - 1] if at else None) for at, id_ in enumerate("abcd")]
    return folder(*spoken, texts=said)


ROWS = [
    Row("convokit", "a reply stands before its equal in time", "recovered",
        folder(("b", 9, "a"), ("a", 9, None), ("c", 9, "b")), holds=rated_in_order("abc")),
    Row("convokit", "all stamps are 0", "recovered",
        folder(("d", 0, "c"), ("c", 0, "b"), ("b", 0, "a"), ("a", 0, None)), holds=rated_in_order("abcd")),
    Row("convokit", "stamps are text and would sort by letter", "recovered",
        folder(("a", "9", None), ("b", "10", "a"), ("c", "100", "b")), holds=rated_in_order("abc")),
    Row("convokit", "stamps are dates", "recovered",
        folder(("b", "2024-01-01T10:00:05Z", "a"), ("a", "2024-01-01T10:00:00Z", None)), holds=rated_in_order("ab")),
    Row("convokit", "one stamp is missing", "told", folder(("b", None, "a"), ("c", 3, "b"), ("a", 1, None)),
        says="without a timestamp, .*: 1 in 1 session", holds=rated_in_order("abc")),
    Row("convokit", "a stamp is a word", "told", folder(("b", "later", "a"), ("a", 1, None), ("c", 2, "b")),
        says="no number and no date", holds=rated_in_order("abc")),
    Row("convokit", "a reply is stamped before what it answers", "told",
        folder(("a", 1, None), ("b", 5, "c"), ("c", 9, "a")),
        says="timestamp before that of what they reply to", holds=rated_in_order("abc")),
    Row("convokit", "what is replied to is in another conversation", "told", folder(("a", 1, "zz"), ("b", 2, "a")),
        says="replies to what is not in their conversation", holds=rated_in_order("ab")),
    Row("convokit", "replies lead in a circle", "told", folder(("a", None, "b"), ("b", None, "a")), says="in a circle"),
    Row("convokit", "two utterances have one id", "told", folder(("a", 1, None), ("b", 2, "a"), ("b", 3, "a")),
        says="ids that another utterance", holds=rated_in_order("abb")),
    Row("language", "German, and nobody said so", "told", talk("de"), says=r"1 German \(de\)", holds=in_language("de")),
    Row("language", "Chinese, and nobody said so", "told", talk("zh"), says="1 Chinese", holds=in_language("zh")),
    Row("language", "two languages in one talk", "told", talk("es+en"), says="English and Spanish",
        holds=in_language("en+es")),
    Row("language", "the data name it in words", "recovered", folder(("a", 1, None), ("b", 2, "a"), language="German"),
        holds=in_language("de")),
    Row("language", "the data name no language", "told", folder(("a", 1, None), ("b", 2, "a"), language="??"),
        says=r"language '\?\?': no language"),
    Row("language", "the option names no language", "refused",
        lambda path: [*talk("de")(path), "-o", "language=1337"], says="option language=1337: language '1337': no"),
]  # fmt: skip
