"""Single texts as vectors: what any layer of a frozen backbone says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.reward_model.history_windows import Pair
from apportion.reward_model.network.tokens import Tokens, length_batches

if TYPE_CHECKING:
    from apportion.reward_model.network.backbones import Backbone

TEXTS_AT_ONCE = 16
SENTENCES_AT_ONCE = 64
TOKENS_IN_A_ROW = 256
"""Of texts that are read side by side: few enough that what they must not see of each other costs little."""


@torch.inference_mode()
def embed_texts(backbone: Backbone, texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector a text: the hidden states of all layers, averaged over layers and tokens.

    The last layer of a sentence encoder is made for topics and loses much of the tone that the middle ones still have.

    Returns [shape=(N, d)]: d is the hidden size. Equal texts are computed once.
    """
    backbone.eval()
    places, vectors = _once(backbone, texts)
    tokens = backbone.tokens.alone(list(places))
    # BERT is told the positions of its tokens; others count them along the row, or by how far two are apart.
    if backbone.config.model_type == "bert":
        for row in _rows(tokens):
            vectors[row] = _side_by_side(backbone, [tokens[i] for i in row]).float().numpy()
    else:
        for batch in length_batches(tokens, TEXTS_AT_ONCE):
            vectors[batch] = _padded(backbone, [tokens[i] for i in batch]).float().numpy()
    return vectors[[places.get(text, len(places)) for text in texts]]


@torch.inference_mode()
def embed_sentences(backbone: Backbone, texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector a text: the hidden states of the last layer, averaged over tokens; what the text is about.

    It is the half of `apportion.reward_model.network.embed.embed_episodes` that is the turn's own, computed many at a
    time.

    Returns [shape=(N, d)]: d is the hidden size. Equal texts are computed once.
    """
    backbone.eval()
    places, vectors = _once(backbone, texts)
    tokens = [encoded.reply for encoded in backbone.tokens.encode([("", text) for text in places])]
    for batch in length_batches(tokens, SENTENCES_AT_ONCE):
        inputs = backbone.tokens.pad([tokens[i] for i in batch])
        states = backbone.encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        vectors[batch] = ((states * mask).sum(dim=1) / mask.sum(dim=1)).float().numpy()
    return vectors[[places.get(text, len(places)) for text in texts]]


def _once(backbone: Backbone, texts: Sequence[str]) -> tuple[dict[str, int], NDArray[np.float32]]:
    """The row of each text that is not empty, and as many rows of zeros and one more, which stays for the empty one."""
    places = {text: i for i, text in enumerate(dict.fromkeys(text for text in texts if text))}
    return places, np.zeros((len(places) + 1, backbone.width // 2), dtype=np.float32)


@torch.inference_mode()
def embed_replies(backbone: Backbone, exchanges: Sequence[Pair]) -> NDArray[np.float32]:
    """One vector a reply that is read after what it answers: as `embed_texts`, averaged over the reply's tokens alone.

    ``exchanges``: what was said before, and the reply; an empty reply gives zeros. Of a model whose tokenizer does not
    tell the two apart, the average is over both. Returns [shape=(N, d)]: d is the hidden size. Equal pairs are computed
    once.
    """
    backbone.eval()
    places = {pair: i for i, pair in enumerate(dict.fromkeys(pair for pair in exchanges if pair[1]))}
    vectors = np.zeros((len(places) + 1, backbone.width // 2), dtype=np.float32)  # the last row: no reply
    tokens = [encoded.window for encoded in backbone.tokens.encode(list(places))]
    for batch in length_batches(tokens, TEXTS_AT_ONCE):
        inputs = backbone.tokens.pad([tokens[i] for i in batch])
        layers = backbone.encoder(**inputs, output_hidden_states=True).hidden_states[1:]
        longest = inputs["attention_mask"].shape[1]
        replies = [[*tokens[i].segments, *[0] * (longest - len(tokens[i].segments))] for i in batch]
        counted = torch.tensor(replies) * inputs["attention_mask"]
        counted = torch.where(counted.any(dim=1, keepdim=True), counted, inputs["attention_mask"])
        mask = counted.unsqueeze(-1).to(layers[0].dtype)
        states = torch.stack([(layer * mask).sum(dim=1) for layer in layers]).mean(dim=0) / mask.sum(dim=1)
        vectors[batch] = states.float().numpy()
    return vectors[[places.get(pair, len(places)) for pair in exchanges]]


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
    """The vectors [shape=(B, d)] of texts in one row, none of which sees another: nothing is padded."""
    lengths = torch.tensor([len(text.ids) for text in texts])
    own = torch.repeat_interleave(torch.arange(len(texts)), lengths)
    apart = torch.where(own[:, None] == own[None], 0.0, torch.finfo(torch.float32).min)
    states = _mean_over_layers(
        backbone,
        {
            "input_ids": torch.tensor([[number for text in texts for number in text.ids]]),
            "token_type_ids": torch.tensor([[segment for text in texts for segment in text.segments]]),
            "position_ids": torch.cat([torch.arange(len(text.ids)) for text in texts])[None],
            "attention_mask": apart[None, None],
        },
    )[0]
    sums = torch.zeros(len(texts), states.shape[1], dtype=states.dtype).index_add_(0, own, states)
    return sums / lengths[:, None]


def _padded(backbone: Backbone, texts: Sequence[Tokens]) -> Tensor:
    """The vectors [shape=(B, d)] of texts of like lengths, each in a row of its own."""
    inputs = backbone.tokens.pad(texts)
    states = _mean_over_layers(backbone, inputs)
    mask = inputs["attention_mask"].unsqueeze(-1).to(states)
    means: Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
    return means


def _mean_over_layers(backbone: Backbone, inputs: dict[str, Tensor]) -> Tensor:
    return torch.stack(backbone.encoder(**inputs, output_hidden_states=True).hidden_states[1:]).mean(dim=0)
