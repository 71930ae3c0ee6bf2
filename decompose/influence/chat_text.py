"""A follower's prompt as the text that a model reads: in its own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion.decompose.influence.scorer import Prompt
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.names import is_folder_name, model_folder, model_place
from apportion.foundation.safe_text import control_marks, defused
from apportion.llm_client.request import ChatMessage

_HERE = "tea"
"""Stands in a template where somebody's words are looked for."""
_SHOWN = 300
"""Characters of a loader's own words that a message holds."""


class ChatText:
    """Writes prompts as the makers of a model wrote its chats.

    A system's message goes before the first other one's words where the template has no place for it. What anybody says
    that spells a control token of the model is broken up.

    Raises InputError: No chat template, or one that cannot show a user's message.
    """

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._name = name
        self._marks = control_marks(tokenizer)
        self._system = _takes_system(name, tokenizer)

    def before(self, prompt: Prompt) -> str:
        """The text up to where the reply starts.

        Raises InputError: The template refuses these roles in this order, or leaves out what a user says last.
        """
        messages = prompt.messages if self._system else _without_system(prompt.messages)
        chat = [{"role": one.role, "content": defused(one.content, self._marks)} for one in messages]
        replies = prompt.speaker == "user"
        if replies:
            chat.append({"role": "user", "content": _HERE})
        try:
            text: str = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=not replies)
        except Exception as error:  # A template is a program of the model's makers.
            raise InputError(
                f"measurer {self._name!r}: its chat template cannot show "
                f"{', '.join(one['role'] for one in chat)[:200]}: {words(error)}. Choose a model made for dialogue."
            ) from None
        if replies:
            text, found, _ = text.rpartition(_HERE)
            if not found:
                raise InputError(
                    f"measurer {self._name!r}: its chat template shows no user's message after the assistant's, so "
                    "that the user's next words cannot be foretold. Choose another model."
                )
        return text + self.said(prompt.begun)

    def bare(self, prompt: Prompt) -> str:
        """`before` without the token that the tokenizer itself puts before every text; raises as it does."""
        begins = self.tokenizer.bos_token
        itself = begins and self.tokenizer("tea")["input_ids"][:1] == [self.tokenizer.bos_token_id]
        return self.before(prompt).removeprefix(begins if itself else "")

    def said(self, text: str) -> str:
        """What somebody says, as it stands in the model's text."""
        return defused(text, self._marks)


def load_tokenizer(name: str) -> Any:
    """The tokenizer of the model ``name``, a folder or a name on the Hugging Face Hub; no code of its own is run.

    Raises InputError: There is none, or no network.
    """
    from transformers import AutoTokenizer

    place = place_of(name)
    try:
        return AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except Exception as error:  # Loaders fail in many ways.
        raise InputError(
            f"measurer {name!r}: its tokenizer cannot be loaded: {words(error)}. Give a model's folder with its "
            "tokenizer, or a name on the Hugging Face Hub (which needs a network or an earlier download)."
        ) from None


def place_of(name: str) -> str:
    """Where a model called ``name`` is: its folder here, else its name on the Hub.

    Raises InputError: It can be nothing but a folder, and there is none; it is one that is fetched, and was not.
    """
    if is_folder_name(name) and not model_folder(name).is_dir():
        raise InputError(f"measurer {name!r}: no such folder. Give a model's folder or its name on the Hub.")
    return model_place(name)


def words(error: BaseException) -> str:
    """What another library said, on one line and not for ever."""
    return " ".join(str(error).split())[:_SHOWN]


def _takes_system(name: str, tokenizer: Any) -> bool:
    """Whether the chat template shows a system's message.

    Raises InputError: There is none, or it cannot show even a user's.
    """
    if not tokenizer.chat_template:
        raise InputError(
            f"measurer {name!r}: its tokenizer has no chat template, so that a dialogue cannot be put to it. Choose "
            "the model's chat or instruct variant."
        )
    user = {"role": "user", "content": _HERE}
    try:
        shown = tokenizer.apply_chat_template([user], tokenize=False, add_generation_prompt=True)
    except Exception as error:  # A template is a program of the model's makers.
        raise InputError(f"measurer {name!r}: its chat template shows no user's message: {words(error)}.") from None
    if _HERE not in shown:
        raise InputError(f"measurer {name!r}: its chat template leaves out what a user says. Choose another model.")
    try:
        system = {"role": "system", "content": "milk"}
        return "milk" in tokenizer.apply_chat_template([system, user], tokenize=False, add_generation_prompt=True)
    except Exception:  # Gemma's and some others' refuse the role.
        return False


def _without_system(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The same with what a system says before the words of the first other message."""
    said = "\n\n".join(one.content for one in messages if one.role == "system")
    first, *rest = [one for one in messages if one.role != "system"] or [ChatMessage("user", "")]
    return (ChatMessage(first.role, f"{said}\n\n{first.content}".strip()), *rest)
