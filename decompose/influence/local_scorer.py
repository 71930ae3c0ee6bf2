"""The Measurer on this machine: any causal language model by name or folder, from safetensors, without its code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from apportion.decompose.influence.chat_text import ChatText, load_tokenizer, place_of, words
from apportion.decompose.influence.prefix_tree import Sequenced, SharedPrefixes, can_share
from apportion.decompose.influence.scorer import LogprobResult, Prompt, TooLongError, check_replies, common_length
from apportion.decompose.method_settings import MeasurerSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.model_hub.names import model_digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class LocalMeasurer:
    """Measures with a model that is loaded already; its weights are read, never changed.

    A reply's tokens are those that the assistant's message has beyond what it has without the reply, as the tokenizer
    makes them of the whole message. What ends the message is not among them (Eq. 6 sums over the reply's tokens).

    - ``model``, ``tokenizer`` (PreTrainedModel, PreTrainedTokenizerBase): A causal language model and its tokenizer,
      which has a chat template.
    - ``name``: What a person calls it.
    - ``context_tokens`` (int or None): The most tokens that a prompt and its reply may have together; None leaves it to
      the model.

    Raises InputError: No chat template, one that cannot show a user's message, or fewer positions than
    ``context_tokens``.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str = "measurer",
        context_tokens: int | None = None,
    ) -> None:
        self._name = name
        self._text = ChatText(name, tokenizer)
        positions = getattr(model.config, "max_position_embeddings", None)
        if context_tokens is not None and positions is not None and context_tokens > positions:
            raise InputError(
                f"measurer {name!r} reads at most {positions} tokens, and context_tokens is {context_tokens}. Lower it."
            )
        self._limit = context_tokens or positions
        frozen: Any = model
        self._reader = SharedPrefixes(frozen.eval().requires_grad_(False), can_share(model))

    def measure(self, prompts: Sequence[Prompt], replies: Sequence[str]) -> LogprobResult:
        """log P(reply | prompt) of each of M ``replies`` after each of N ``prompts``; see `Measurer`."""
        (measured,) = self.measure_all([(prompts, replies)])
        return measured

    def measure_all(self, asked: Sequence[tuple[Sequence[Prompt], Sequence[str]]]) -> list[LogprobResult]:
        """`measure` of several, which share what they have in common, too; ``computed`` is of all of them.

        Raises InputError, UnitError, TooLongError: As `Measurer.measure`; the error's ``asked`` is the place (from 0)
        of the one that it is about.
        """
        before = self._reader.computed
        sequences: list[Sequenced] = []
        for number, (prompts, replies) in enumerate(asked):
            check_replies(prompts, replies)
            for place, prompt in enumerate(prompts):
                try:
                    sequences += self._sequences(place, self._text.before(prompt), replies)
                except TooLongError as error:
                    error.asked = number
                    raise
        logs = iter(self._reader.log_probabilities(sequences))
        computed = self._reader.computed
        measured = []
        for prompts, replies in asked:
            rows = [[next(logs) for _ in replies] for _ in prompts]
            sums = np.array([[float(one.sum()) for one in row] for row in rows])
            tokens = np.array([[len(one) for one in row] for row in rows], dtype=np.int64)
            measured.append(LogprobResult(sums, tokens, computed - before))
        return measured

    def sequences(self, prompt: Prompt, replies: Sequence[str]) -> list[Sequenced]:
        """The tokens of ``prompt`` with each of ``replies``, as the model reads them.

        Raises TooLongError: More tokens than the model reads.
        """
        return self._sequences(0, self._text.before(prompt), replies)

    def _sequences(self, place: int, text: str, replies: Sequence[str]) -> list[Sequenced]:
        alone = self._ids(text)
        sequences = []
        for number, reply in enumerate(replies):
            ids = self._ids(text + self._text.said(reply))
            if self._limit is not None and len(ids) > self._limit:
                raise TooLongError(
                    f"prompt and reply have {len(ids):,} tokens, and the measurer {self._name!r} reads at most "
                    f"{self._limit:,}",
                    place,
                    number,
                )
            start = max(common_length([alone, ids]), 1)
            if start == len(ids):
                raise UnitError(f"reply {number + 1} of {len(replies)} is no token of the measurer {self._name!r}.")
            sequences.append(Sequenced(ids, start))
        return sequences

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._text.tokenizer(text, add_special_tokens=False)["input_ids"])


def load_measurer(
    name: str,
    *,
    device: Literal["cpu", "cuda"] = "cpu",
    dtype: Literal["float32", "bfloat16"] = "float32",
    context_tokens: int | None = None,
) -> LocalMeasurer:
    """The measurer ``name``: a folder, or a name on the Hugging Face hub.

    Raises InputError: No such model, no network, no safetensors, code of its own, no causal language model, no
    tokenizer, no chat template, no such device, or fewer positions than ``context_tokens``.
    """
    import torch
    from transformers import AutoModelForCausalLM

    if device == "cuda" and not torch.cuda.is_available():
        raise InputError(f"measurer {name!r}: device = 'cuda', and torch sees no CUDA device here. Use 'cpu'.")
    tokenizer = load_tokenizer(name)
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            place_of(name),
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.bfloat16 if dtype == "bfloat16" else torch.float32,
        )
    except Exception as error:  # Loaders fail in many ways.
        raise InputError(
            f"measurer {name!r} cannot be loaded: {words(error)}. It must be a causal language model with a tokenizer "
            "and *.safetensors, in a folder or on the Hugging Face Hub (which needs a network or an earlier download)."
        ) from None
    return LocalMeasurer(model.to(device), tokenizer, name=name, context_tokens=context_tokens)


def opened(chosen: MeasurerSettings) -> LocalMeasurer:
    """The measurer that ``chosen.model`` names.

    Raises InputError: See `apportion.decompose.influence.local_scorer.load_measurer`.
    """
    assert chosen.model is not None
    return _opened(chosen.model, model_digest(chosen.model), chosen.device, chosen.dtype, chosen.context_tokens)


@lru_cache(maxsize=1)
def _opened(name: str, digest: str, device: str, dtype: str, context_tokens: int | None) -> LocalMeasurer:
    """Read again only where the files are others."""
    return load_measurer(
        name,
        device="cuda" if device == "cuda" else "cpu",
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        context_tokens=context_tokens,
    )
