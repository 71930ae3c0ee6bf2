"""Table 6 as a person asks for it: which Refiner, which turns, who answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from apportion.foundation.files import write_atomically
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.request import json_line
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.stackelberg.instances.instance import Instance, read_instances, with_intents
from apportion.rlhf.stackelberg.persuasion_eval.embedding import ServedEmbedding, TextEmbedding
from apportion.rlhf.stackelberg.persuasion_eval.followers import AskedFollower, Follower, LocalFollower
from apportion.rlhf.stackelberg.persuasion_eval.table import Embed, Persuaded, persuasion
from apportion.rlhf.stackelberg.refiner import stages_of
from apportion.rlhf.stackelberg.training import UNSEEN

REPLIES, FILE = "persuasion.sqlite", "persuasion.jsonl"
ANSWER_TOKENS = 200
"""Of a local follower's answer: 100 words and more."""
_TOO_LONG = "Leave that turn out, or use a model with a longer context."


@dataclass(frozen=True)
class Asked:
    """What is to be compared.

    Parameters
    ----------
    refiner : Path
        A folder of `train refiner`.
    turns : Path or None
        Turns with intents; None takes those that the training has set aside.
    follower : str or None
        A causal language model of this machine that answers; None: ``chosen`` does.
    chosen : ModelSpec
        The language model at a server, its limits and files.
    temperature : float
        Of whoever answers.
    embedding : str
        As `apportion.rlhf.stackelberg.persuasion_eval.embedding.TextEmbedding` has it, or ``MODEL@URL`` of a server of
        embeddings.
    embedding_allow_host : str or None
        Consent: the host to which answers may be sent for their vectors.
    count : int
        Turns, drawn from all.
    seed : int
        Of draws, speeches and answers.
    called : callable
        What a caller calls the fields, for errors.
    """

    refiner: Path
    turns: Path | None = None
    follower: str | None = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = 1.0
    embedding: str = "minilm"
    embedding_allow_host: str | None = None
    count: int = 500
    seed: int = 0
    called: Called = str


def persuade(asked: Asked, progress: Callable[[int, int], None] = lambda done, total: None) -> Persuaded:
    """Table 6; its turns, a turn and epoch a line, are written into `FILE` in the Refiner's folder.

    Raises
    ------
    InputError
        No Refiner, no turns with intents, or a model that cannot be asked.
    StoppedError, UnitError
        As whoever answers.
    """
    from apportion.rlhf.policy.context_config import read_window

    stages = stages_of(str(asked.refiner))
    file = asked.turns or asked.refiner / UNSEEN
    turns = list(with_intents(read_instances(file), str(file)))
    if len(turns) > asked.count:
        turns = sorted(Random(f"{asked.seed}/persuasion").sample(turns, asked.count), key=turns.index)
    window = Window.model_validate(read_window(str(asked.refiner)))
    with _embedding(asked) as embed, _follower(asked, turns) as follower:
        found = persuasion(asked.refiner, turns, stages, follower, embed, window, asked.seed, progress)
    write_atomically(asked.refiner / FILE, "".join(json_line(line) + "\n" for line in found.lines()))
    return found


@contextmanager
def _embedding(asked: Asked) -> Iterator[Embed]:
    model, at, url = asked.embedding.partition("@")
    if not at:
        yield TextEmbedding(model)
        return
    chosen = ModelSpec(
        model=model,
        base_url=url,
        allow_host=asked.embedding_allow_host,
        api_key_env=asked.chosen.api_key_env,
        concurrency=asked.chosen.concurrency,
        budget=asked.chosen.budget,
        prices=asked.chosen.prices,
    )
    called = _called_of_embedding(asked.called)
    settings = chosen.llm(called)
    cache = asked.chosen.cache or asked.refiner / REPLIES
    with chosen.asker(settings, cache, called, _TOO_LONG) as asker:
        asker.check()
        yield ServedEmbedding(settings, asker.complete)


@contextmanager
def _follower(asked: Asked, turns: list[Instance]) -> Iterator[Follower]:
    if asked.follower is not None:
        from apportion.rlhf.policy.opening import open_policy

        window = Window(max_context_tokens=8, max_new_tokens=ANSWER_TOKENS, temperature=max(asked.temperature, 0.001))
        policy = open_policy(asked.follower, window, Placement(), asked.follower)
        yield LocalFollower(policy, window, asked.seed)
        return
    settings = asked.chosen.llm(asked.called, asked.temperature)
    cache = asked.chosen.cache or asked.refiner / REPLIES
    with asked.chosen.asker(settings, cache, asked.called, _TOO_LONG) as asker:
        asker.check()
        yield AskedFollower(settings, asker.complete, asked.seed, asked.chosen.concurrency)


def _called_of_embedding(called: Called) -> Called:
    """What a caller calls the fields of the server of embeddings."""
    own = {"model": "embedding", "base_url": "embedding", "allow_host": "embedding_allow_host"}
    return lambda name: called(own.get(name, name))
