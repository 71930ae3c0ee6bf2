"""Policies side by side: their responses to the same dialogue contexts, and who prefers whose.

From the ground up:

- `responses`: the table, and the files that it is kept in
- `blind`: letters for the policies' names, and the key to them; `metadata`: what a table was made with
- `pairs`: two responses to one context; `anonymize`: other names for the people in them
- `shared_contexts`: the contexts that every policy has room for; `partial_table`: the finished part of a table
- `generate`: one response a context and policy; `choice`: from what is asked for to what is generated
- `win_rate`: a reward model as the judge, and how often who wins; `judge`: a language model as the judge,
  asked by one of `prompts/`
- `tables`: win rates for people and programs; `judging`: from a file of responses to win rates

`responses`, `blind`, `metadata`, `pairs` and `judging` load no torch. Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.corpus.schema import RESPONSES
    from apportion.rlhf.compare.choice import Generation, GenerationRequest, choose
    from apportion.rlhf.compare.judging import JudgeSettings, Judging, LanguageModelJudge, read_pairs
    from apportion.rlhf.compare.pairs import Pair
    from apportion.rlhf.compare.responses import read_rows, write_rows
    from apportion.rlhf.compare.tables import WinRates

__all__ = [
    "RESPONSES",
    "Generation",
    "GenerationRequest",
    "JudgeSettings",
    "Judging",
    "LanguageModelJudge",
    "Pair",
    "WinRates",
    "choose",
    "read_pairs",
    "read_rows",
    "write_rows",
]
_HOMES = {
    **dict.fromkeys(("Generation", "GenerationRequest", "choose"), "apportion.rlhf.compare.choice"),
    **dict.fromkeys(("JudgeSettings", "Judging", "LanguageModelJudge", "read_pairs"), "apportion.rlhf.compare.judging"),
    "RESPONSES": "apportion.corpus.schema",
    **dict.fromkeys(("read_rows", "write_rows"), "apportion.rlhf.compare.responses"),
    "Pair": "apportion.rlhf.compare.pairs",
    "WinRates": "apportion.rlhf.compare.tables",
}
__getattr__ = lazy_names(__name__, _HOMES)
