"""The settings of `influence`: which frozen model measures, against what, and whose side the shift is on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from apportion.foundation.files import model_digest, remembered_digest
from apportion.foundation.settings import Settings

INFLUENCE, SERVED = "influence", "influence-served"
"""The methods that read these settings: by a model on this machine, and by one at a server."""


class InfluenceSettings(Settings):
    """How far an utterance moved the reply that came (the Stackelberg Speaker's Measurer, section 3.3)."""

    model: str | None = Field(
        default=None,
        min_length=1,
        description="influence: a causal language model on this machine, its folder or its name on the Hugging Face "
        "Hub; `apportion train measurer CORPUS` makes a small one. influence-served asks decompose.llm.model",
    )
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="where that model runs; results differ by bits")
    dtype: Literal["float32", "bfloat16"] = Field(default="float32", description="number format of its weights")
    endpoint: Literal["chat", "completions"] = Field(
        default="chat",
        description="influence-served: how the server is asked, chat (prompt_logprobs: vLLM) or completions (echo: "
        "vLLM, SGLang)",
    )
    tokenizer: str | None = Field(
        default=None,
        min_length=1,
        description="influence-served, endpoint completions: the model's tokenizer, a folder or a name on the Hub, "
        "whose chat template writes the prompt; none writes lines that begin with the role",
    )
    context_tokens: int | None = Field(
        default=None, ge=32, description="most tokens of a prompt with its reply; none is as many as the model reads"
    )
    context_turns: int | None = Field(
        default=None, ge=1, description="most turns that the follower reads before the reply; none is all"
    )
    negatives: int = Field(
        default=3,
        ge=0,
        le=32,
        description="other replies of the same session, drawn, beside which the one that came is measured (the paper's "
        "K); 0 measures it alone",
    )
    baseline: Literal["silence", "others"] = Field(
        default="silence",
        description="what stands in the utterance's place for comparison: nothing said, or other utterances of the "
        "same speaker, drawn",
    )
    candidates: int = Field(
        default=3, ge=1, le=32, description="how many other utterances, where they are what stands there"
    )
    tokens: Literal["sum", "mean"] = Field(
        default="sum",
        description="a reply's log-probability over its tokens: their sum (Eq. 6), or their mean, as the released code",
    )
    signed: bool = Field(
        default=True,
        description="what moved the replies of a dialogue counts for it above the middle of the scale and against it "
        "below, by how far; false, whichever way the dialogue went",
    )
    intents: Path | None = Field(
        default=None,
        description="a JSON Lines file of desired and undesired replies by session and turn; where a turn has them, "
        "its value is how far it moved the follower from those to these (Eq. 5), whatever came and whatever the score",
    )
    seed: int = Field(default=0, ge=0, description="of what is drawn")

    def found_from(self, base: Path) -> InfluenceSettings:
        """A copy whose folders and files are found from ``base``."""

        def placed(name: str | None) -> str | None:
            path = os.path.normpath(base / os.path.expanduser(name)) if name else ""  # noqa: PTH111
            return path if name and os.path.isdir(path) else name  # noqa: PTH112

        intents = self.intents and Path(os.path.normpath(base / self.intents.expanduser()))
        changes = {"model": placed(self.model), "tokenizer": placed(self.tokenizer), "intents": intents}
        return self.model_copy(update=changes)

    def shown(self) -> dict[str, Any]:
        """What of it is a place, by its last name: paths say nothing about results."""
        given = {"model": self.model, "tokenizer": self.tokenizer, "intents": self.intents}
        return {
            name: Path(value).name if Path(value).is_absolute() else value for name, value in given.items() if value
        }

    def identity(self, *, served: bool) -> dict[str, Any]:
        """What of it decides a value, for an artifact's key: a model and a file count by what they hold."""
        values: dict[str, Any] = self.model_dump(mode="json")
        if self.intents is not None:
            # A file that is not there is told where it is read.
            values["intents"] = remembered_digest(self.intents) if self.intents.is_file() else ""
        for name in ("model", "tokenizer"):
            values[name] = values[name] and model_digest(values[name])
        unused = ("model", "device", "dtype", "context_tokens") if served else ("endpoint", "tokenizer")
        return {name: value for name, value in values.items() if name not in unused}
