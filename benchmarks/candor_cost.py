"""What judging all of CANDOR by a language model takes: tokens of prompts of its size, and their price.

    python -m benchmarks.candor_cost

CANDOR itself is gated and is not here, so the dialogues are made up to its size: 1,656 conversations, 527,869 turns
(319 a conversation), "more than 7 million words" (13.3 a turn; Reece et al. 2023, abstract), two ratings a
conversation, speaker ids of 24 hexadecimal digits. Their words are those of the demo corpus, their descriptors three
phrases a window. Prompts are rendered by the real code; nothing is sent.
"""

from __future__ import annotations

import random

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import DESCRIPTORS
from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose.prompt_building.reply import TOKENS_A_REPLY, TOKENS_A_TURN
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.settings import DecomposeSettings
from apportion.features.registry import FEATURES, Emotion, Relative
from apportion.llm_client.cost.prices import find_price, shipped_as_of
from apportion.llm_client.cost.tokens import estimated_input_tokens, way_of_counting
from benchmarks.measure import ROOT, tell

CONVERSATIONS, TURNS, WORDS = 1656, 319, 13.3
SAMPLE = 20
MODELS = ("gpt-4.1-mini", "gpt-4.1", "o3-mini")


def made_up(seed: int, turns: int, vocabulary: list[str]) -> Session:
    """A conversation of CANDOR's size in words that mean nothing."""
    chance = random.Random(seed)
    people = [f"{chance.getrandbits(96):024x}" for _ in range(2)]
    said = []
    for turn in range(turns):
        words = 1 + int(chance.expovariate(1 / (WORDS - 0.5)))
        text = " ".join(chance.choices(vocabulary, k=words))
        said.append(Turn(turn, people[turn % 2], text))
    ratings = tuple(
        Rating(people[n], people[1 - n], "overall_affect", float(chance.randint(1, 9)), 1.0, 9.0) for n in range(2)
    )
    return Session(f"c{seed}", tuple(said), ratings)


def described(session: Session) -> pa.Table:
    """Three phrases for each window of each turn."""
    chance = random.Random(session.session_id)
    words = [row.words for row in FEATURES.values()]
    phrases = [w.above for w in words if isinstance(w, Relative)] + [w.more for w in words if isinstance(w, Emotion)]
    people = sorted({turn.speaker for turn in session.turns})
    rows = [
        {
            "session_id": session.session_id,
            "turn": turn.turn,
            "person": person,
            "window": window,
            "text": "; ".join(chance.sample(phrases, 3)),
        }
        for turn in session.turns
        for person in people
        if person != turn.speaker
        for window in ("during", "reply")
    ]
    return pa.Table.from_pylist(rows, schema=DESCRIPTORS.arrow)


def measure(name: str, turns: int, *, multimodal: bool, pseudonyms: bool) -> None:
    """Print tokens, requests and dollars of one way to ask, for the whole corpus."""
    vocabulary = [
        word for session in Corpus.open(ROOT / "demo" / "corpus").iter_sessions() for t in session.turns
        for word in t.text.split()
    ]  # fmt: skip
    sessions = [made_up(seed, turns, vocabulary) for seed in range(SAMPLE)]
    settings = DecomposeSettings(llm={"pseudonyms": pseudonyms})
    requests = inputs = outputs = 0
    for session in sessions:
        table = described(session) if multimodal else None
        for request, meta in requests_for(session, None, table, settings):
            requests += 1
            inputs += estimated_input_tokens(request)
            outputs += TOKENS_A_REPLY + TOKENS_A_TURN * len(meta.turns)
    whole = CONVERSATIONS / SAMPLE
    words = sum(len(turn.text.split()) for session in sessions for turn in session.turns) / (SAMPLE * turns)
    usd = {}
    for model in MODELS:
        price = find_price(model)
        assert price is not None
        usd[model] = round(price.usd(inputs * whole, outputs * whole), 2)
        usd[f"{model}, batch"] = round(price.batched().usd(inputs * whole, outputs * whole), 2)
    tell(
        name,
        inputs / requests,
        "input tokens a request",
        output_tokens_a_request=round(outputs / requests, 1),
        requests=round(requests * whole),
        input_tokens=round(inputs * whole),
        output_tokens=round(outputs * whole),
        words_a_turn=round(words, 2),
        counting=way_of_counting(settings.llm.model),
        usd=usd,
        prices_as_of=shipped_as_of(),
    )


def main() -> None:
    """The whole conversations, as text and with descriptors, and GELI's middle 100 turns."""
    measure("CANDOR, llm", TURNS, multimodal=False, pseudonyms=False)
    measure("CANDOR, llm, pseudonyms", TURNS, multimodal=False, pseudonyms=True)
    measure("CANDOR, llm-multimodal, pseudonyms", TURNS, multimodal=True, pseudonyms=True)
    measure("CANDOR, middle 100 turns, llm, pseudonyms", 100, multimodal=False, pseudonyms=True)


if __name__ == "__main__":
    main()
