"""Policies: any causal language model by name or folder, with its tokenizer and chat template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.errors import InputError
from rlhf.memory import is_allocation
from rlhf.settings import AlignSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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
        """Wrap a loaded model; from here on it samples from its plain distribution, without top-p or penalties."""
        from transformers import GenerationConfig

        eos_ids = _eos_ids(model, tokenizer)
        pad_id = eos_ids[0] if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        # What a checkpoint adds to sampling would make the log-probabilities those of another policy.
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            eos_token_id=list(eos_ids), pad_token_id=pad_id
        )
        return cls(name, model, tokenizer, eos_ids, pad_id)


def load_policy(settings: AlignSettings, adapter: Path | None = None, named: str | None = None) -> Policy:
    """Load the policy that ``settings.policy`` names, from safetensors and without any code of its own.

    Parameters
    ----------
    settings : AlignSettings
        The model, its device and number format, and the window that has to fit.
    adapter : Path or None
        A folder of adapters and tokenizer (`checkpoint.write_policy`) that belong to that model.
    named : str or None
        What a person calls it; None takes ``settings.policy``.

    Raises
    ------
    InputError
        Unknown name, gated model, no network, no safetensors, not a causal language model, no chat template or
        one that lacks a role, or a window longer than the model can read.
    """
    import torch
    from transformers import AutoModelForCausalLM

    name = settings.policy
    tokenizer = load_tokenizer(str(adapter or name))
    dtype = torch.bfloat16 if settings.dtype == "bfloat16" else torch.float32
    try:
        model = AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, trust_remote_code=False, dtype=dtype)
        model = model if adapter is None else with_adapter(model, adapter)
    except Exception as error:  # Loaders fail in many ways; only a lack of memory is not the model's fault.
        if is_allocation(error):
            raise
        raise InputError(_explain(name, error)) from error
    _check_window(name, model, settings)
    return Policy.of(named or name, on_device(model, settings), tokenizer)


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of the model ``name``, with a chat template that takes both sides of a dialogue.

    Raises
    ------
    InputError
        Unknown name, gated model, no network, no chat template, or one that lacks a role.
    """
    from transformers import AutoTokenizer

    _check_folder(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # Loaders fail in many ways.
        raise InputError(_explain(name, error)) from error
    _check_template(name, tokenizer)
    return tokenizer


def with_adapter(model: Any, folder: Path) -> Any:
    """``model`` with the adapters in ``folder``, which are read from safetensors only."""
    from peft import PeftModel

    if not (folder / "adapter_model.safetensors").is_file():
        raise ValueError(f"{folder} has no safetensors of its adapters.")
    return PeftModel.from_pretrained(model, str(folder), use_safetensors=True)


def on_device(model: Any, settings: AlignSettings) -> Any:
    """``model`` where the settings want it."""
    import torch

    return model.to(torch.device(settings.device))


def _check_folder(name: str) -> None:
    path = Path(name).expanduser()
    if name.startswith(("/", ".", "~")) and not path.is_dir():
        raise InputError(f"policy {name!r}: no such folder. Give a model's folder, its Hub name, or tiny.")


def check_device(settings: AlignSettings) -> None:
    """Raise InputError where the device that is asked for is not there."""
    import torch

    if settings.device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "align.device = 'cuda': torch sees no CUDA device here. Set device = 'cpu' or use a GPU machine."
        )


def _check_template(name: str, tokenizer: Any) -> None:
    if not tokenizer.chat_template:
        raise InputError(
            f"policy {name!r}: its tokenizer has no chat template, so a dialogue cannot be put to it. "
            "Choose the model's chat or instruct variant."
        )
    said = {"user": ("tea", "milk"), "assistant": ("sugar",)}
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
    lacking = [role for role, texts in said.items() if any(text not in shown for text in texts)]
    if lacking:
        raise InputError(
            f"policy {name!r}: its chat template lacks the role {lacking[0]}: what that side says is left out. It "
            "needs user and assistant; choose a model that was made for dialogue."
        )


def _check_window(name: str, model: Any, settings: AlignSettings) -> None:
    limit = getattr(model.config, "max_position_embeddings", None)
    needed = settings.max_context_tokens + settings.max_new_tokens
    if limit is not None and needed > limit:
        raise InputError(
            f"policy {name!r} reads at most {limit} tokens; max_context_tokens + max_new_tokens = {needed}. "
            "Lower one of them."
        )


def _explain(name: str, error: BaseException) -> str:
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
            f"{what}: the Hugging Face Hub has no such model (a private one needs HF_TOKEN). Check the spelling, or "
            "give the folder of a model, or tiny."
        )
    text = " ".join(str(error).split())
    if "connect" in text or "offline" in text.lower():
        return (
            f"{what}: the Hugging Face Hub cannot be reached and no copy is in the cache. Download the model where "
            "there is a network and give its folder, or use tiny."
        )
    if "safetensors" in text:
        return (
            f"{what}: it has no safetensors weights, and pickled ones are not loaded. Convert it with "
            "model.save_pretrained(FOLDER) in a place you trust and give that folder."
        )
    return f"{what}: not a causal language model that transformers can load: {text[:300]} Choose another, or tiny."


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _eos_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    # Chat models often end a turn with another token than their tokenizer's eos.
    configured = model.generation_config.eos_token_id if model.generation_config is not None else None
    ids = configured if isinstance(configured, list) else [configured, tokenizer.eos_token_id]
    return tuple(dict.fromkeys(int(token) for token in ids if token is not None))
