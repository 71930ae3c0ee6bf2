"""What every asker shares knows nobody who asks: no package of ours but `foundation`, and no word of dialogues."""

import re
from pathlib import Path

from apportion import llm_client

FOLDER = Path(llm_client.__file__).parent
FOREIGN = re.compile(r"\b(decompos\w*|apportion\.prompts|utterances?|raters?|speakers?|turns)\b|['\"]turn['\"]")
"""A decomposer's words; a word like `transcript` may be an example of a tag that somebody else's prompt has."""


def test_no_file_names_who_asks():
    found = {path.name: FOREIGN.findall(path.read_text(encoding="utf-8")) for path in FOLDER.rglob("*.py")}
    assert not {name: words for name, words in found.items() if words}
