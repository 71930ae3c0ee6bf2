"""Plain text as a page shows it: paragraphs, and lines that begin with a hyphen as lists. Nothing in it is markup."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A paragraph (one line, whose own line breaks stay) or a list (a line an entry)."""

    is_list: bool
    lines: tuple[str, ...]


def blocks_of(text: str) -> tuple[Block, ...]:
    """The paragraphs and lists of a text; an empty line ends either.

    >>> blocks_of("Hello.\\n- one\\n- two")
    (Block(is_list=False, lines=('Hello.',)), Block(is_list=True, lines=('one', 'two')))
    """
    found: list[tuple[bool, list[str]]] = []
    ended = True
    for line in text.splitlines():
        words = line.strip()
        is_list = words.startswith("- ")
        if not words:
            ended = True
        elif is_list:
            if ended or not found[-1][0]:
                found.append((True, []))
            found[-1][1].append(words[2:].strip())
            ended = False
        else:
            if ended or found[-1][0]:
                found.append((False, []))
            found[-1][1].append(words)
            ended = False
    return tuple(Block(is_list, tuple(lines if is_list else ["\n".join(lines)])) for is_list, lines in found)
