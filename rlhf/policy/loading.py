"""Policies: any causal language model by name or folder, with its tokenizer and chat template."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import check_path
from apportion.foundation.model_hub.names import is_folder_name, model_folder, model_place
from apportion.rlhf.policy_settings import Placement, Window

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


LONGEST_CAUSE = 300
"""Characters of a loader's own words that a message holds."""
ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Policy:
    """A causal language model and how it reads and ends a dialogue.

    ``name`` is what a person calls it; ``eos_ids`` are the tokens that end a reply, ``pad_id`` fills shorter rows.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    eos_ids: tuple[int, ...]
    pad_id: int

    @classmethod
    def of(cls, name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Policy:
        """Wrap a loaded model; from here on without dropout, and sampled plainly, without top-p."""
        from transformers import GenerationConfig

        without_dropout(model)
        eos_ids = _eos_ids(model, tokenizer)
        if not eos_ids:
            raise InputError(
                f"policy {name!r}: neither its tokenizer nor its generation_config.json names a token that ends "
                "a turn. Set eos_token there, or choose a model that was made for dialogue."
            )
        pad_id = eos_ids[0] if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        # What a checkpoint adds to sampling would make the log-probabilities those of another policy.
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            eos_token_id=list(eos_ids), pad_token_id=pad_id
        )
        return cls(name, model, tokenizer, eos_ids, pad_id)


def load_policy(
    name: str, window: Window, placement: Placement, adapter: Path | None = None, called: str | None = None
) -> Policy:
    """Load the policy ``name``, from safetensors and without any code of its own.

    ``name``: name or folder of the model. ``window``: what has to fit into the model. ``adapter``: a folder of adapters
    and tokenizer (`apportion.rlhf.policy.folder.write_policy`) that belong to that model. ``called``: what a person
    calls it; None takes ``name``.
    """
    import torch
    from transformers import AutoModelForCausalLM

    check_whole(name)
    place = place_of(name)
    tokenizer = load_tokenizer(str(adapter or name))
    dtype = torch.bfloat16 if placement.dtype == "bfloat16" else torch.float32
    try:
        model = AutoModelForCausalLM.from_pretrained(place, use_safetensors=True, trust_remote_code=False, dtype=dtype)
    except Exception as error:  # Loaders fail in many ways; only a lack of memory is not the model's fault.
        if is_allocation(error):
            raise
        raise InputError(cannot_load(name, error)) from error
    if adapter is not None:
        model = with_adapter(model, adapter)
    check_window(name, model.config, window)
    check_embeddings(name, model, tokenizer)
    return Policy.of(called or name, on_device(model, placement), tokenizer)


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of the model ``name``, with a chat template that takes both sides of a dialogue."""
    from transformers import AutoTokenizer

    place = place_of(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except Exception as error:  # Loaders fail in many ways.
        folder = Path(place)
        if folder.is_dir() and not any(folder.glob("tokenizer*")):
            raise InputError(
                f"policy {name!r}: the folder has no tokenizer (tokenizer.json, tokenizer_config.json). Put it there: "
                "adapters come with the tokenizer that they were trained with."
            ) from None
        raise InputError(cannot_load(name, error)) from error
    _check_template(name, tokenizer)
    return tokenizer


def read_config(name: str) -> Any:
    """The configuration of the model ``name``."""
    from transformers import AutoConfig

    place = place_of(name)
    try:
        return AutoConfig.from_pretrained(place, trust_remote_code=False)
    except Exception as error:  # Loaders fail in many ways.
        raise InputError(cannot_load(name, error)) from error


def check_model(name: str, window: Window) -> None:
    """What can be known of the model ``name`` before its weights are loaded: that it is there, and reads the window."""
    check_window(name, read_config(name), window)


def check_embeddings(name: str, model: Any, tokenizer: Any) -> None:
    """Raise InputError where the tokenizer of the model ``name`` writes tokens that the model has no embedding for."""
    rows = model.get_input_embeddings().num_embeddings
    highest = max(tokenizer.get_vocab().items(), key=lambda item: item[1])
    if highest[1] >= rows:
        raise InputError(
            f"policy {name!r}: its tokenizer writes {highest[0]!r} as token {highest[1]}, and the model has embeddings "
            f"for 0 to {rows - 1}. Put the tokenizer there that the model was trained with, or give it more embeddings "
            "(model.resize_token_embeddings) and save it."
        )


def with_adapter(model: Any, folder: Path) -> Any:
    """``model`` with the adapters in ``folder``, which are read from safetensors only."""
    from peft import PeftModel

    file = folder / "adapter_model.safetensors"
    if not file.is_file():
        raise InputError(cannot_load(str(folder), ValueError(f"{folder} has no safetensors of its adapters.")))
    try:
        adapted = PeftModel.from_pretrained(model, str(folder), use_safetensors=True)
        _check_adapters(adapted, file)
    except Exception as error:  # Loaders fail in many ways; only a lack of memory is not the adapters' fault.
        if is_allocation(error):
            raise
        raise InputError(
            f"policy {str(folder)!r}: its adapters cannot be put on the base {model.name_or_path!r}: "
            f"{' '.join(str(error).split())[:300]} They belong to another model, or a file is damaged: give them the "
            "base that they were trained on, or align again."
        ) from error
    return adapted


def _check_adapters(model: Any, file: Path) -> None:
    # peft itself leaves out what does not fit, with a warning or without one.
    from peft import get_peft_model_state_dict
    from safetensors import safe_open

    wanted = {name for name in get_peft_model_state_dict(model, save_embedding_layers=False) if "lora_" in name}
    with safe_open(file, framework="pt") as weights:
        stored = {name for name in weights.keys() if "lora_" in name}  # noqa: SIM118
    if wanted != stored:
        other = sorted(wanted ^ stored)[0]
        where = "the file lacks" if other in wanted else "the base has no place for"
        raise ValueError(f"{len(wanted ^ stored)} weights do not match; {where} {other}.")


def on_device(model: Any, placement: Placement) -> Any:
    """``model`` where ``placement`` wants it."""
    import torch

    return model.to(torch.device(placement.device))


def check_whole(name: str) -> None:
    """Raise InputError where ``name`` is a path without a folder, or a folder of adapters rather than of a model."""
    folder = Path(place_of(name))
    if (folder / ADAPTER).is_file() and not (folder / "config.json").is_file():
        raise InputError(
            f"policy {name!r}: the folder holds adapters, and a policy to align is a whole model. Put them into their "
            f"base with `apportion policy merge {shlex.quote(name)} OUT` and give the folder OUT."
        )


def place_of(name: str) -> str:
    """Where the policy ``name`` is: its folder here, else its name at the Hub.

    Raises InputError: it can be nothing but a folder, and there is none; it is one that is fetched, and was not.
    """
    folder = model_folder(name)
    check_path(folder)
    if is_folder_name(name) and not folder.is_dir():
        raise InputError(f"policy {name!r}: no such folder. Give a model's folder, its Hub name, or tiny.")
    return model_place(name)


def check_device(placement: Placement, called: str = "device") -> None:
    """Raise InputError where the device is not there, or lacks the format; ``called`` is what its choice is called."""
    if placement.device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        raise InputError(
            f"{called} = 'cuda': torch sees no CUDA device here. Set it to 'cpu' or use a machine with a GPU."
        )
    if placement.dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise InputError(
            "dtype = 'bfloat16': this GPU does not compute in it (NVIDIA's do from Ampere on). Set it to 'float32'."
        )


def _check_template(name: str, tokenizer: Any) -> None:
    if not tokenizer.chat_template:
        raise InputError(
            f"policy {name!r}: its tokenizer has no chat template, so a dialogue cannot be put to it. "
            "Choose the model's chat or instruct variant."
        )
    texts_of = {"user": ("tea", "milk"), "assistant": ("sugar",)}
    chat = [("user", "tea"), ("assistant", "sugar"), ("user", "milk")]
    try:
        shown = tokenizer.apply_chat_template(
            [{"role": role, "content": text} for role, text in chat], tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # A template is a program of the model's makers.
        raise InputError(
            f"policy {name!r}: its chat template cannot show a dialogue of user and assistant: "
            f"{' '.join(str(error).split())[:200]}. Choose a model that was made for dialogue."
        ) from None
    lacking = [role for role, texts in texts_of.items() if any(text not in shown for text in texts)]
    if lacking:
        raise InputError(
            f"policy {name!r}: its chat template lacks the role {lacking[0]}: what that side says is left out. It "
            "needs user and assistant; choose a model that was made for dialogue."
        )


def check_window(name: str, config: Any, window: Window) -> None:
    """Raise InputError where the model ``name`` has fewer positions than ``window`` holds tokens."""
    limit = getattr(config, "max_position_embeddings", None)
    if limit is not None and window.tokens > limit:
        raise InputError(
            f"policy {name!r} reads at most {limit} tokens; max_context_tokens + max_new_tokens = "
            f"{window.tokens}. Lower one of them."
        )


def cannot_load(name: str, error: BaseException) -> str:
    """Why the model ``name`` cannot be loaded, and what to do, from what a loader has raised."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    what = f"policy {name!r}"
    causes = tuple(_chain(error))
    if any(isinstance(cause, GatedRepoError) for cause in causes):
        return (
            f"{what}: the model is gated. Accept its licence on its page at huggingface.co, then set HF_TOKEN or run "
            "`hf auth login`."
        )
    if any(isinstance(cause, RepositoryNotFoundError) for cause in causes):
        return (
            f"{what}: no folder here, and the Hugging Face Hub has no such model (a private one needs HF_TOKEN). Check "
            "the spelling, or give the folder of a model, or tiny."
        )
    text = " ".join(str(error).split())
    if "connect" in text or "offline" in text.lower():
        return (
            f"{what}: no folder here, the Hugging Face Hub cannot be reached and no copy is in the cache. Check the "
            "spelling of a folder, or download the model where there is a network and give its folder, or use tiny."
        )
    if "safetensors" in text:
        return (
            f"{what}: it has no safetensors weights, and pickled ones are not loaded. Convert it with "
            "model.save_pretrained(FOLDER) in a place you trust and give that folder."
        )
    text = textwrap.shorten(text, LONGEST_CAUSE, placeholder=" …")
    return f"{what}: not a causal language model that transformers can load: {text} Choose another, or tiny."


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _eos_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    # Chat models often end a turn with another token than their tokenizer's eos.
    configured = model.generation_config.eos_token_id if model.generation_config is not None else None
    ids = configured if isinstance(configured, list) else [configured, tokenizer.eos_token_id]
    return tuple(dict.fromkeys(int(token) for token in ids if token is not None))


def without_dropout(model: nn.Module) -> None:
    """Set every dropout of ``model`` to 0, in training as well.

    Not by leaving it in evaluation: gradient checkpointing works in training alone. Rates lie in torch's own layers, in
    numbers that layers give to functions (OPT's ``dropout`` and ``layerdrop``, LLaMA's ``attention_dropout``), and in
    the configuration, which some layers read when they are called.
    """
    from torch.nn.modules.dropout import _DropoutNd

    for module in model.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0
        _zero_rates(module)
    if (config := getattr(model, "config", None)) is not None:
        _zero_config(config)


def _zero_config(config: Any) -> None:
    from transformers import PretrainedConfig

    _zero_rates(config)
    for value in vars(config).values():
        if isinstance(value, PretrainedConfig):
            _zero_config(value)


def _zero_rates(holder: Any) -> None:
    for name, value in list(vars(holder).items()):
        if "drop" in name and isinstance(value, float):
            setattr(holder, name, 0.0)


@contextmanager
def oom_advice(placement: Placement, to_lower: str) -> Iterator[None]:
    """Turn an allocation that failed, on the CPU or a GPU, into a UnitError that names what is ``to_lower``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_allocation(error):
            raise
        raise UnitError(
            f"out of memory on the {placement.device}. Lower one of {to_lower} or dtype = 'bfloat16'."
        ) from error


def is_allocation(error: BaseException) -> bool:
    """Whether ``error`` tells that memory could not be had."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return "not enough memory" in text or "can't allocate memory" in text or "out of memory" in text
