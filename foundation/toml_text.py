"""Values as TOML writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(value: Any) -> str:
    """``value`` on one line, as it stands behind ``name =``; what TOML has no form for is written as its text.

    >>> print(toml_text({"worst": (60, 110.0), "said": 'a "b"', "kept": True}))
    { worst = [60, 110.0], said = "a \\"b\\"", kept = true }
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_text(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ", ".join(toml_text(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    # DEL is the one character that JSON allows in a text and TOML does not.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: Any) -> str:
    """A key, in quotation marks where it is no bare one.

    >>> toml_key("book"), toml_key("old book")
    ('book', '"old book"')
    """
    text = str(key)
    return text if text.isascii() and text.replace("_", "a").replace("-", "a").isalnum() else toml_text(text)
