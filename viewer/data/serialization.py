"""Rows of one session as one blob: column by column, so that names are said once."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any


def pack(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Columns of equal length as compressed JSON; NaN and infinities are kept."""
    return zlib.compress(
        json.dumps(dict(columns), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 1
    )


def unpack(blob: bytes) -> list[dict[str, Any]]:
    """The rows of a blob of `pack`, each a mapping of column to value."""
    columns: dict[str, list[Any]] = json.loads(zlib.decompress(blob).decode("utf-8", "surrogatepass"))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
