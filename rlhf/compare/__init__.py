"""Policies side by side: their responses to the same dialogue contexts, and who prefers whose.

From the ground up: `responses` (the table and its files), `blind` (letters for the policies' names), `metadata` (what a
table was made with, and its finished part), `pairs` (two responses to one context, and other names for the people in
them), `win_rate` (a reward model as the judge, how often who wins, and tables of it), `best_of_n` (its divergence and
what it earns), `generate` (one response a context and policy, or the best of several), `choice` (from what is asked for
to what is generated), `judge` (a language model as the judge, asked by one of `prompts/`), `judging` (from a file of
responses to win rates).

`responses`, `blind`, `metadata`, `pairs` and `judging` load no torch. Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.corpus.schema import RESPONSES
    from apportion.rlhf.compare.choice import Generation, GenerationRequest, choose
    from apportion.rlhf.compare.judging import JudgeSettings, Judging, LanguageModelJudge, read_pairs
    from apportion.rlhf.compare.pairs import Pair
    from apportion.rlhf.compare.responses import read_rows, write_rows
    from apportion.rlhf.compare.win_rate import WinRates

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

__getattr__ = lazy_names(__name__, __file__)
