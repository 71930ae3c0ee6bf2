"""A prompt with the model that is asked in it, by one name: ``STYLE`` or ``STYLE@MODEL``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.prompts.prompt_file import is_path
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class StyledModel:
    """A model and its prompt.

    Parameters
    ----------
    style : str
        A prompt by name, or the path of one's own.
    settings : LLMSettings
        The model, and how it is asked.
    """

    style: str
    settings: LLMSettings

    @classmethod
    def of(cls, what: str, name: str, chosen: ModelSpec, called: Called, temperature: float) -> Self:
        """What a name means; whether there is such a prompt is the caller's to find out.

        Parameters
        ----------
        what : str
            What the name is given to, for errors: an agent, a judge.
        name : str
            ``STYLE``, which asks the chosen model, or ``STYLE@MODEL``, another one of the same server.
        chosen : ModelSpec
            The model, its server and limits.
        called : callable
            What a caller calls the fields of ``chosen``, for errors.
        temperature : float
            Of the model.

        Raises
        ------
        InputError
            No model stands behind the @, or there is no @ and none was chosen; or a setting cannot be used.
        """
        style, model = style_and_model(name)
        if model is None:
            if not chosen.asks:
                raise InputError(
                    f"{what} {name!r}: no language model is chosen: give {called('model')}, or write {name}@MODEL"
                )
            return cls(style, chosen.llm(called, temperature))
        if not model.strip():
            raise InputError(f"{what} {name!r}: no model behind the @; write {style}@MODEL, or {style} alone")
        return cls(style, chosen.named(model).llm(called, temperature))

    @property
    def stem(self) -> str:
        """The prompt's name; of a file its name without folder and ending."""
        return Path(self.style).stem if is_path(self.style) else self.style

    @property
    def called(self) -> str:
        """The name in full, with the model that is asked: ``STYLE@MODEL``."""
        return f"{self.stem}@{self.settings.model}"


def style_and_model(name: str) -> tuple[str, str | None]:
    """The prompt of a name, and the model behind its @; None where it has no @.

    >>> style_and_model("base@some-model"), style_and_model("base"), style_and_model("base@")
    (('base', 'some-model'), ('base', None), ('base', ''))
    """
    style, at, model = name.partition("@")
    return style, model if at else None
