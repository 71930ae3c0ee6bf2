"""Single texts as vectors: what any layer of a frozen backbone says of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.reward_model.history_windows import MARKS, Pair, said_in
from apportion.reward_model.network.tokens import Tokens, length_batches

if TYPE_CHECKING:
    from apportion.reward_model.network.backbones import Backbone

Vectors = NDArray[np.float32]
T = TypeVar("T", bound=Hashable)
TEXTS_AT_ONCE = 16
ROW_STEP = 32
TOKENS_IN_A_ROW = 256
"""Of texts that are read side by side: few enough that what they must not see of each other costs little."""


def embed_texts(backbone: Backbone, texts: Sequence[str]) -> Vectors:
    """One vector a text: the hidden states of all layers, averaged over layers and tokens.

    The last layer of a sentence encoder is made for topics and loses much of the tone that the middle ones still have.
    An encoder-decoder's vector is its decoder's last state at the text's end. An empty text gives zeros. Returns
    [shape=(N, d)], d the hidden size.
    """
    # BERT is told the positions of its tokens; others count them along the row, or by how far two are apart.
    packed = backbone.config.model_type == "bert"
    batches = _rows if packed else partial(length_batches, size=TEXTS_AT_ONCE)
    return _each_once(backbone, texts, bool, backbone.tokens.alone, batches, _side_by_side if packed else _padded)


def embed_pooled(backbone: Backbone, pairs: Sequence[Pair], known: Mapping[str, Vectors] | None = None) -> Vectors:
    """The mean of a window's history, its reply, and its last turn before the reply, each turn read once and by itself.

    ``known``: vectors of turns that were read before (`embed_texts`). A window without history has zeros in its place;
    what was known before the dialogue counts as turns. Returns [shape=(N, 3 d)].
    """
    windows = [[f"{who}: {text}" if who in MARKS else text for who, text in said_in(pair)] for pair in pairs]
    vectors = dict(known or {})
    unread = list(dict.fromkeys(text for texts in windows for text in texts if text not in vectors))
    vectors.update(zip(unread, embed_texts(backbone, unread), strict=True))
    width = backbone.width // 2
    silence = [np.zeros(width, np.float32)]
    before = [[vectors[text] for text in texts[:-1]] or silence for texts in windows]
    parts = [
        [np.mean(of, axis=0) for of in before],
        [vectors[texts[-1]] for texts in windows],
        [of[-1] for of in before],
    ]
    return np.concatenate([np.array(part, np.float32).reshape(len(pairs), width) for part in parts], axis=1)


def embed_replies(backbone: Backbone, exchanges: Sequence[Pair]) -> Vectors:
    """One vector a reply that is read after what it answers: as `embed_texts`, averaged over the reply's tokens alone.

    ``exchanges``: what was said before, and the reply; an empty reply gives zeros. Of a model whose tokenizer does not
    tell the two apart, the average is over both; of an encoder-decoder it is the state at the end. Returns
    [shape=(N, d)], d the hidden size.
    """

    def encode(pairs: list[Pair]) -> list[Tokens]:
        return [encoded.window for encoded in backbone.tokens.encode(pairs)]

    batches = partial(length_batches, size=TEXTS_AT_ONCE)
    return _each_once(backbone, exchanges, lambda pair: bool(pair[1]), encode, batches, _of_replies)


@torch.inference_mode()
def _each_once(
    backbone: Backbone,
    asked: Sequence[T],
    filled: Callable[[T], bool],
    encode: Callable[[list[T]], list[Tokens]],
    batches: Callable[[list[Tokens]], Iterable[list[int]]],
    read: Callable[[Backbone, list[Tokens]], Tensor],
) -> Vectors:
    """The vectors of what is ``asked``; what is equal is read once, and what is not ``filled`` gives zeros."""
    backbone.eval()
    places = {one: i for i, one in enumerate(dict.fromkeys(one for one in asked if filled(one)))}
    vectors = np.zeros((len(places) + 1, backbone.width // 2), dtype=np.float32)
    tokens = encode(list(places))
    for batch in batches(tokens):
        vectors[batch] = read(backbone, [tokens[i] for i in batch]).float().numpy()
    return vectors[[places.get(one, len(places)) for one in asked]]


def _of_replies(backbone: Backbone, texts: Sequence[Tokens]) -> Tensor:
    """The vectors [shape=(B, d)] of replies after what they answer."""
    if backbone.config.is_encoder_decoder:
        return backbone.pooled(texts).cpu()
    inputs = backbone.tokens.pad(texts)
    layers = [layer.float() for layer in backbone.encoder(**inputs, output_hidden_states=True).hidden_states[1:]]
    longest = inputs["attention_mask"].shape[1]
    replies = [[*text.segments, *[0] * (longest - len(text.segments))] for text in texts]
    counted = torch.tensor(replies) * inputs["attention_mask"]
    counted = torch.where(counted.any(dim=1, keepdim=True), counted, inputs["attention_mask"])
    mask = counted.unsqueeze(-1).to(layers[0].dtype)
    return torch.stack([(layer * mask).sum(dim=1) for layer in layers]).mean(dim=0) / mask.sum(dim=1)


def _rows(tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Positions of the texts that share a row, in their order."""
    row: list[int] = []
    length = 0
    for i, text in enumerate(tokens):
        if row and length + len(text.ids) > TOKENS_IN_A_ROW:
            yield row
            row, length = [], 0
        row.append(i)
        length += len(text.ids)
    if row:
        yield row


def _side_by_side(backbone: Backbone, texts: Sequence[Tokens]) -> Tensor:
    """The vectors [shape=(B, d)] of texts in one row, none of which sees another.

    What fills the row is one text more: of few lengths of rows, code is compiled for each once.
    """
    filling = -sum(len(text.ids) for text in texts) % ROW_STEP
    texts = [*texts, Tokens((0,) * filling, (0,) * filling)]
    lengths = torch.tensor([len(text.ids) for text in texts])
    own = torch.repeat_interleave(torch.arange(len(texts)), lengths)
    kind = backbone.encoder.dtype
    told = backbone.tokens.reads_segments  # E5 has BERT's shape, and was taught without segments.
    apart = torch.where(own[:, None] == own[None], 0.0, torch.finfo(kind).min).to(kind)
    states = _mean_over_layers(
        backbone,
        {
            "input_ids": torch.tensor([[number for text in texts for number in text.ids]]),
            "token_type_ids": torch.tensor([[segment * told for text in texts for segment in text.segments]]),
            "position_ids": torch.cat([torch.arange(len(text.ids)) for text in texts])[None],
            "attention_mask": apart[None, None],
        },
    )[0]
    sums = torch.zeros(len(texts), states.shape[1], dtype=states.dtype).index_add_(0, own, states)
    return (sums / lengths[:, None])[:-1]


def _padded(backbone: Backbone, texts: Sequence[Tokens]) -> Tensor:
    """The vectors [shape=(B, d)] of texts of like lengths, each in a row of its own."""
    if backbone.config.is_encoder_decoder:
        return backbone.pooled(texts).cpu()
    inputs = backbone.tokens.pad(texts)
    states = _mean_over_layers(backbone, inputs)
    mask = inputs["attention_mask"].unsqueeze(-1).to(states)
    means: Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
    return means


def _mean_over_layers(backbone: Backbone, inputs: dict[str, Tensor]) -> Tensor:
    device = next(backbone.encoder.parameters()).device
    found = backbone.encoder(**{name: of.to(device) for name, of in inputs.items()}, output_hidden_states=True)
    return torch.stack(found.hidden_states[1:]).float().mean(dim=0).cpu()
