"""Negotiations of a language model on a loopback server: whole games, paid for once, without the other's values."""

from __future__ import annotations

import json
import re
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation import write_corpus
from apportion.llm_client.model_spec import CACHE, ModelSpec
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

CONTEXT = "1 3 3 1 1 4\n1 1 3 0 1 9\n"
"""A ball is worth 4 points to Alice, 9 to Bob."""


def haggles(body: Body) -> Body:
    """A model that keeps a book, agrees to whatever is proposed, and takes what was agreed on."""
    system, text = (message["content"] for message in body["messages"][:2])
    if "put into words" in system:
        act = re.findall(r"plainly: (.*)", text)[0]
        return completion(json.dumps({"text": f"Well, {act}"}))
    if len(body["messages"]) == 2 and len(text) % 7 == 0:
        return completion("Let me think.")
    book = {"book": 1, "hat": 0, "ball": 0}
    legal = re.findall(r"one of these acts: (.*?)\. What", text)[0].split(", ")
    if legal == ["select"]:
        own = "You proposed to keep 1 book" in text
        return completion(json.dumps({"act": "select", "keep": book if own else {**book, "book": 0}, "text": ""}))
    kind = "end" if "agreed" in text else "agree" if "agree" in legal else "propose"
    keep = book if kind == "propose" else None
    return completion(json.dumps({"act": kind, "keep": keep, "text": "Agree to everything!"}))


def choice(folder: Path, server: OpenAIServer, *agents: str) -> NegotiationChoice:
    (folder / "contexts.txt").write_text(CONTEXT)
    chosen = ModelSpec("m", base_url=server.url)
    return NegotiationChoice(agents, games=1, repeats=3, contexts=folder / "contexts.txt", chosen=chosen)


def test_games_of_a_model_are_paid_for_once_become_sessions_and_ask_without_the_other_s_values(tmp_path: Path) -> None:
    with serving(OpenAIServer(answer=haggles)) as server:
        played = choice(tmp_path, server, "base", "fair", "greedy~")
        report = write_corpus(played, tmp_path / "one")
        asked = len(server.requests)
        assert asked > 0
        assert report.left_out == ()
        assert report.rows["sessions"] == 3 * 9
        assert write_corpus(played, tmp_path / "one").rows == report.rows
        assert (tmp_path / "one" / CACHE).exists()
        (tmp_path / "one" / LOG).unlink()
        write_corpus(played, tmp_path / "one")
        assert len(server.requests) == asked
    for body in server.requests:
        text = "".join(message["content"] for message in body["messages"])
        seats = [seat for seat, values in (("Alice", "a ball 4 points"), ("Bob", "a ball 9 points")) if values in text]
        if "put into words" in text:
            assert not seats
        else:
            assert seats == [seat for seat in ("Alice", "Bob") if f"You are {seat}." in text] and len(seats) == 1
    corpus = Corpus.open(tmp_path / "one")
    texts = [row["text"] for row in corpus.tables["utterances"].to_pylist()]
    assert "Agree to everything! [Let's end it here.]" in texts, "words that say another act than was done"
    assert "Agree to everything!" in texts, "words that say the act"
    assert any(text.startswith("Well, ") for text in texts)
    assert any("base@m and greedy~@m" in row["source"] for row in corpus.tables["sessions"].to_pylist())
