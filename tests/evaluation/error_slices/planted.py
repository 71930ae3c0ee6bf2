"""Made-up conversations in which some kinds of turn cost something: their words, and what they are worth, are known."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from apportion.evaluation.error_slices.result import Slice
from apportion.evaluation.error_slices.slices import words_of
from apportion.evaluation.error_slices.turns import TargetTurns, TurnId

Template = Sequence[str]
Shuffle = Literal["all", "within", "sessions"]
SHUFFLES: tuple[Shuffle, ...] = ("all", "within", "sessions")
"""Over all turns, within each session, sessions as a whole."""
USUAL: Mapping[str, Template] = {
    "weather": ("the weather in {x} is sunny", "it will rain in {x} tomorrow", "expect clouds and wind over {x} today"),
    "booking": ("your table at {x} is booked", "i have reserved a seat at {x}", "the reservation for {x} is confirmed"),
    "asking": ("which city do you want", "what time would you like", "how many people are coming to {x}"),
    "music": ("playing the song {x} for you", "here is a jazz album called {x}", "the band {x} has a new record"),
    "thanks": ("you are welcome", "glad to help", "happy to be of service with {x}"),
    "travel": ("the train to {x} leaves at nine", "a bus goes to {x} every hour", "flights to {x} take two hours"),
}
BAD: Mapping[str, Template] = {
    "sorry": (
        "sorry i could not understand the question",
        "sorry i did not understand that question about {x}",
        "i am sorry the question was not understood",
    ),
    "policy": (
        "our policy forbids refunds without a receipt",
        "refunds need a receipt by company policy on {x}",
        "the policy says no refunds after thirty days",
    ),
    "transfer": (
        "please hold while an agent is transferred",
        "i will transfer you to another agent please hold",
        "hold the line for an agent about {x}",
    ),
}
PLACES = ("paris", "oslo", "lima", "cairo", "quito", "delhi", "tokyo", "accra", "sofia", "minsk")
NAMING: Mapping[str, frozenset[str]] = {
    name: frozenset().union(*(words_of(text) for text in template))
    - frozenset().union(*(words_of(text) for of in USUAL.values() for text in of))
    for name, template in BAD.items()
}
"""The words of each bad kind that no usual turn holds."""


def word_vector(word: str, width: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(width)


def embedded(texts: Sequence[str], width: int = 48) -> NDArray[np.float32]:
    """A stand-in for a sentence encoder: the sum of a random vector a word, of short words and names of places less."""
    weight = {word: 0.3 if len(word) <= 3 or word in PLACES else 1.0 for text in texts for word in words_of(text)}
    vectors = {word: word_vector(word, width) * of for word, of in weight.items()}
    return np.array([sum((vectors[w] for w in sorted(words_of(t))), np.zeros(width)) for t in texts], np.float32)


def corpus(
    seed: int, sessions: int = 240, turns: int = 10, cost: float = 0.6, bad: Mapping[str, Template] = BAD
) -> tuple[TargetTurns, list[str]]:
    """Sessions of ``turns`` target turns; each is of a bad kind with a chance of 0.06, which costs ``cost`` sds.

    Rewards differ between sessions, too, by as much as within one. Also the kind of each turn.
    """
    rng = np.random.default_rng(seed)
    ids, texts, kinds, rewards, scores = [], [], [], [], []
    for number in range(sessions):
        of_session = rng.normal(0, 1)
        worth = []
        for place in range(turns):
            draw = rng.random()
            name = list(bad)[int(draw / 0.06)] if draw < 0.06 * len(bad) else str(rng.choice(list(USUAL)))
            template = (bad if name in bad else USUAL)[name]
            texts.append(str(rng.choice(template)).format(x=rng.choice(PLACES)))
            kinds.append(name)
            ids.append(TurnId((f"s{number:04d}", "user", "system", "liking"), 2 * place + 1))
            worth.append(of_session + rng.normal(0, 1) - cost * (name in bad))
        rewards += worth
        scores += [float(np.mean(worth))] * turns
    traits = {
        "cue: asks": np.array(["?" in text or text.startswith(("which", "what", "how")) for text in texts]),
        "place: the first": np.array([one.turn == 1 for one in ids]),
        "place: the last": np.array([one.turn == 2 * turns - 1 for one in ids]),
    }
    made = TargetTurns(ids, texts, np.array(rewards), embedded(texts), traits, np.array(scores))
    return made, kinds


def called_after(kind: Slice) -> set[str]:
    """The planted kinds whose words a found one is called by: two of them at least."""
    words = set(kind.name.split(" · "))
    return {planted for planted, naming in NAMING.items() if len(words & naming) >= 2}


def shuffled(turns: TargetTurns, how: Shuffle, seed: int) -> TargetTurns:
    """The same turns, their rewards dealt out anew: they have nothing to do with what is said any more.

    ``sessions`` gives each session another one's rewards in their order; sessions then need equal lengths.
    """
    rng = np.random.default_rng(seed)
    if how == "all":
        return replace(turns, rewards=rng.permutation(turns.rewards))
    if how == "sessions":
        of_session = turns.rewards.reshape(int(turns.sessions.max()) + 1, -1)
        return replace(turns, rewards=rng.permutation(of_session, axis=0).ravel())
    # Sorted by session and then by chance: each session's rewards in an order of chance.
    dealt = np.empty_like(turns.rewards)
    dealt[np.argsort(turns.sessions, kind="stable")] = turns.rewards[
        np.lexsort((rng.random(len(turns)), turns.sessions))
    ]
    return replace(turns, rewards=dealt)
