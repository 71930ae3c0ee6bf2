"""What every asker shares knows nobody who asks: no package of ours but `foundation`, and no word of dialogues."""

import ast
import re
from pathlib import Path

import pytest
from jinja2 import Environment, StrictUndefined

from apportion import llm_client
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, strict_json
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import ask_until_usable

FOLDER = Path(llm_client.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
OURS = {path.parent.name for path in FOLDER.parent.glob("*/__init__.py")}
FOREIGN = re.compile(r"\b(decompos\w*|apportion\.prompts|utterances?|raters?|speakers?|turns)\b|['\"]turn['\"]")
"""A decomposer's words; a word like `transcript` may be an example of a tag that somebody else's prompt has."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_file_imports_or_names_who_asks(path):
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} & OURS <= {"foundation", "llm_client"}
    assert not FOREIGN.findall(text)


def test_no_prompt_of_anybody_lies_here():
    assert not [path for path in FOLDER.rglob("*") if path.suffix in (".txt", ".jinja", ".j2")]


def test_an_agent_brings_its_own_folder_and_its_own_reader(tmp_path):
    (tmp_path / "bid.txt").write_text("[system]\nYou trade.\n[user]\nThe offer is {{ offer }}. Your bid?\n")
    kind = PromptKind(tmp_path, "nobody.prompts", "agent.prompt", (), frozenset({"offer"}), ("offer",), "Two sections")
    environment = Environment(undefined=StrictUndefined)
    text = kind.read(kind.find("bid"), environment)
    asked = ChatRequest("m", (ChatMessage("user", environment.from_string(text.user).render(offer=7)),), subject="bid")
    replies = iter([ChatReply('{"bid": -1}', "m"), ChatReply('{"bid": 6}', "m")])
    heard = []

    def read(reply):
        bid = strict_json(reply.text)["bid"]
        if bid < 0:
            raise ReplyMistakeError("a bid is not negative")
        return bid

    def complete(request):
        heard.append(request)
        return next(replies)

    assert ask_until_usable(complete, asked, read, attempts=2, again="Bid again.") == 6
    assert heard[1].messages[-1].content == "That reply cannot be used: a bid is not negative. Bid again."
    assert kind.names() == ["bid"]
