"""The text of a chat template, special tokens and all, as messages: what a trainer sends that has tokens alone.

ChatML (Qwen, SmolLM2), Llama 3 and Llama 2 (Mistral) are understood, as their tokenizers' templates write them.
"""

from __future__ import annotations

import re

from apportion.foundation.truncate import shortened
from apportion.llm_client.prompts.strict_json import answer_of
from apportion.viewer.scoring.refusals import unusable

Message = dict[str, str]
HEADERS = (
    (re.compile(r"<\|im_start\|>([^\n<]*)(?:\n|$)"), ("<|im_end|>",)),
    (re.compile(r"<\|start_header_id\|>([^\n<]*)<\|end_header_id\|>\s*"), ("<|eot_id|>", "<|eom_id|>")),
)
"""By template: what begins a message, its role in it; and what ends one."""
ASKED, ANSWERED = "[INST]", "[/INST]"
SYSTEM = re.compile(r"\A\s*<<SYS>>.*?<</SYS>>", re.DOTALL)
EDGES = re.compile(r"<s>|</s>|<pad>|<\|(?:begin_of_text|end_of_text|endoftext|finetune_right_pad_id|im_end|eot_id)\|>")
"""Tokens that begin, end or fill a text and say nothing."""
SPECIAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]")
"""What special tokens look like; in a text of no known template they would be read as words."""
TOOLS = ("tool", "ipython")
"""Roles of messages that nobody says."""
KNOWN = "ChatML (Qwen, SmolLM2), Llama 3 and Llama 2 are understood"


def messages_of(query: str, prompt: str | None = None) -> list[Message]:
    """The messages of a text, system messages too; the last is the assistant's, whole or cut.

    ``query`` is prompt and reply as they were decoded. What stands before the first message is the end of one that was
    cut, and left out; messages of tools are, too. Where ``query`` begins with ``prompt``, all that follows is the
    reply, to the first token that ends one: a policy that writes a template's tokens speaks for nobody else.

    >>> messages_of("<|im_start|>user\\nA train?<|im_end|>\\n<|im_start|>assistant\\nAt nine.<|im_end|>")[1]
    {'role': 'assistant', 'content': 'At nine.'}

    Raises RefusedError: no template that is known, or the last message is not the assistant's.
    """
    asked = prompt if prompt and query.startswith(prompt) else None
    template = query if asked is None else asked
    header = next((one for one in HEADERS if one[0].search(template)), None)
    if header is not None:
        messages = _by_headers(template, *header)
    elif ASKED in template and ANSWERED in template:
        messages = _by_instructions(template)
    else:
        messages, asked = _plain(query, prompt), None
    if asked is not None and messages[-1]["role"] == "assistant":
        ends = [*(end for _, of in HEADERS for end in of), "</s>"]
        reply = min((query[len(asked) :].partition(end)[0] for end in ends), key=len)
        messages[-1] = _message("assistant", messages[-1]["content"] + reply)
    messages = [one for one in messages if one["role"] not in TOOLS] or messages
    if messages[-1]["role"] != "assistant":
        raise unusable(f"it ends with a message of {messages[-1]['role']!r}; the assistant's reply has to be its end.")
    return messages


def _by_headers(query: str, header: re.Pattern[str], ends: tuple[str, ...]) -> list[Message]:
    found = list(header.finditer(query))
    messages = []
    for number, begin in enumerate(found):
        text = query[begin.end() : found[number + 1].start() if number + 1 < len(found) else len(query)]
        for end in ends:
            text = text.partition(end)[0]
        messages.append(_message(begin[1].strip(), text))
    return messages


def _by_instructions(query: str) -> list[Message]:
    messages, begun = list[Message](), ""
    for piece in query.split(ASKED)[1:]:
        asked, answered, reply = piece.partition(ANSWERED)
        begun += asked
        if answered:
            messages += [_message("user", SYSTEM.sub("", begun)), _message("assistant", reply)]
            begun = ""
    return messages


def _plain(query: str, prompt: str | None) -> list[Message]:
    special = SPECIAL.search(EDGES.sub("", query))
    if special is not None:
        raise unusable(f"{special[0]!r} is of no chat template that is known: {KNOWN}.")
    if not prompt or not query.startswith(prompt):
        raise unusable(
            f"{shortened(query)!r} has no chat template, and `prompts` does not say where it ends in a reply: {KNOWN}, "
            "and plain text that begins with its prompt."
        )
    return [_message("user", prompt), _message("assistant", query[len(prompt) :])]


def _message(role: str, text: str) -> Message:
    said = EDGES.sub(" ", text)
    heard = answer_of(said) if role == "assistant" else said
    return {"role": role, "content": said if heard == said.strip() else heard}
