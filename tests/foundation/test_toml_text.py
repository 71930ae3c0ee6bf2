"""Values as TOML."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.toml_text import toml_key, toml_text

texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=10)


@given(texts, values)
def test_what_is_written_is_read_back(key: str, value: Any) -> None:
    assert tomllib.loads(f"{toml_key(key)} = {toml_text(value)}\n") == {key: value}
