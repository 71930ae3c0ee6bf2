"""Styling in captions: tags that are known are taken off, everything else between < and > was said."""

from __future__ import annotations

import html
import re

# What may repeat is bounded: a line that is made for it must not take hours.
VOICE = re.compile(r"<v(?:\.[^\s<>]{0,99})?[ \t]{1,9}([^<>\n]{1,200})>", re.IGNORECASE)
_VOICE_END = re.compile(r"</v\s{0,9}>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:b|i|u|s|em|strong|v|c|ruby|rt|lang)(?:\.[^\s<>]{0,99})?\s{0,9}/?>"
    r"|<lang(?:\.[^\s<>]{0,99})?\s{1,9}[\w-]{1,99}>"
    r"|</?(?:font|span|div|p)(?:\s[^<>]{0,200}=[^<>]{0,200})?>"
    r"|<(?:\d+:)?\d{2}:\d{2}\.\d{3}>",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_SUBSTATION = re.compile(r"\{\\[^{}\n]*\}|\{[yYfFsScCoP]:[^{}\n]*\}|\{/?[biu]\}")
_SUBSTATION_BREAK = re.compile(r"\\N|\\h")
_DRIVE = re.compile(r"\b[A-Za-z]:\\")
# html.unescape knows more than captions do: it would read "R&notes" as "R¬es".
_ENTITY = re.compile(r"&(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def voices(raw: str) -> list[tuple[str | None, str]]:
    """(voice, text) of every part of a cue in WebVTT's voice tags; the voice is None outside of them.

    >>> voices("<v Ann>I <3 <i>this</i></v>")
    [('Ann', 'I <3 this')]
    """
    before, *parts = VOICE.split(_SUBSTATION.sub("", raw))
    found: list[tuple[str | None, str]] = [(None, before)]
    for voice, text in zip(parts[::2], parts[1::2], strict=True):
        inside, *outside = _VOICE_END.split(text, maxsplit=1)
        found += [(plain(voice), inside), *((None, rest) for rest in outside)]
    return [(voice, plain(text)) for voice, text in found if text.strip()]


def plain(text: str) -> str:
    """The text without known tags, known entities as the letters that they stand for, breaks as new lines."""
    text = _TAG.sub("", _BREAK.sub("\n", text))
    if not _DRIVE.search(text):
        text = _SUBSTATION_BREAK.sub(lambda sign: " " if sign[0] == "\\h" else "\n", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
