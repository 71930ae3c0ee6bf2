"""Settings of every kind, good and odd, as the TOML file of a run."""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, get_args

from pydantic import BaseModel

from apportion.pipeline.config import Config
from tests.fuzz.mutations import ODD_NUMBERS, ODD_TEXTS

Place = tuple[str, ...]

START: Mapping[str, Any] = {
    "corpus": "corpus",
    "output": "run",
    "decompose": {"method": "sentiment", "compare": ["uniform"]},
}
ODD: tuple[Any, ...] = (
    True, False, [], {}, [[]], {"a": 1}, ["a", 1], date(2026, 1, 1),
    10, 100, 0.5, "none", "auto", "llm", "tiny",
    "cpu", "cuda", "corpus", "corpus/sessions.parquet", "run", ".", "nowhere/x", "gpt-4o",
    ["llm"], ["rrd", "reaction"], [0, 0],
    *(number for number in ODD_NUMBERS if not isinstance(number, int) or abs(number) < 2**63),
    *(text for text in ODD_TEXTS if "\ud800" not in text and "\udfff" not in text and not text.startswith("/")),
)  # fmt: skip


def places(model: type[BaseModel] = Config, before: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Every key that a configuration may have, with its type and its default."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from places(inner, (*before, name))
        else:
            yield (*before, name), inner, field.default


PLACES = tuple(places())


def damaged(chance: Random) -> bytes:
    """The text of a configuration with a few settings another than their default, or damaged as a text."""
    values: dict[str, Any] = json.loads(json.dumps(START))
    gentle = chance.random() < 0.5
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        place, kind, default = chance.choice(PLACES)
        if gentle:
            _put(values, place, _near(kind, default, chance))
            continue
        if chance.random() < 0.08:
            place = (*place[:-1], chance.choice(("x", place[-1][:-1] or "y", place[-1] * 2, "", "ä.ö")))
        if chance.random() < 0.04:
            place = place[:-1] or place
        _put(values, place, _value(kind, chance))
    if not gentle and chance.random() < 0.05:
        values.pop(chance.choice(sorted(values)))
    content = "".join(_lines(values, ())).encode("utf-8", "surrogatepass")
    if not gentle and chance.random() < 0.08:
        at = chance.randrange(len(content) + 1)
        content = (
            content[:at]
            + chance.choice((b"\0", b"\xff", b"\n[", b'"', b"=", b"\xef\xbb\xbf", b"[" * 3000))
            + content[at:]
        )
    return content


def _near(kind: Any, default: Any, chance: Random) -> Any:
    """A value that may well be allowed, so that the checks behind those of each key are met."""
    options = [option for option in get_args(kind) if isinstance(option, str | int | float)]
    if options:
        return chance.choice(options)
    if isinstance(default, bool) or kind is bool:
        return chance.random() < 0.5
    if isinstance(default, int | float):
        return default + chance.choice((1, -1, 0)) if chance.random() < 0.5 else default * chance.choice((2, 3, 10))
    if _is(kind, (int, float)):
        return chance.choice((1, 2, 5, 0.5))
    return chance.choice(ODD)


def _value(kind: Any, chance: Random) -> Any:
    """Mostly of the right type, so that what stands behind the type is met, too."""
    options = [option for option in get_args(kind) if isinstance(option, str | int | float)]
    roll = chance.random()
    if options and roll < 0.5:
        return chance.choice(options)
    if roll < 0.7 and _is(kind, (int, float)):
        return chance.choice((0, 1, 2, 3, 7, 64, 1000, 2**31 - 1, 2**31, 2**62, -1, 0.0, 1.0, 0.5, 1e-300, 1e300))
    if roll < 0.6 and _is(kind, (bool,)):
        return chance.random() < 0.5
    return chance.choice(ODD)


def _is(kind: Any, types: tuple[type, ...]) -> bool:
    return kind in types or any(_is(option, types) for option in get_args(kind))


def _put(values: dict[str, Any], place: Place, value: Any) -> None:
    for name in place[:-1]:
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        values = inner
    values[place[-1]] = value


def _lines(values: Mapping[str, Any], before: Place) -> Iterator[str]:
    if before:
        yield f"[{'.'.join(map(_text, before))}]\n"
    tables = {name: value for name, value in values.items() if isinstance(value, dict) and value}
    yield from (f"{_text(name)} = {_toml(value)}\n" for name, value in values.items() if name not in tables)
    for name, value in tables.items():
        yield from _lines(value, (*before, name))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(name)} = {_toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, date):
        return value.isoformat()
    return repr(value) if isinstance(value, int | float) else _text(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_configuration(folder: Path, chance: Random) -> Path:
    """A damaged configuration beside a good corpus."""
    path = folder / "run.toml"
    path.write_bytes(damaged(chance))
    return path
