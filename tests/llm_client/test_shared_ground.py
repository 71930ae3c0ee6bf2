"""What every asker shares knows nobody who asks: no package of ours but `foundation`, and no word of dialogues."""

import re
from pathlib import Path

import pytest

from apportion import llm_client

FOLDER = Path(llm_client.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
FOREIGN = re.compile(r"\b(decompos\w*|apportion\.prompts|utterances?|raters?|speakers?|turns)\b|['\"]turn['\"]")
"""A decomposer's words; a word like `transcript` may be an example of a tag that somebody else's prompt has."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_file_names_who_asks(path):
    assert not FOREIGN.findall(path.read_text(encoding="utf-8"))
