"""The methods that papers compare in social episodes, each with the commands that make its agent."""

from __future__ import annotations

from apportion.environments.report_tables.rows_to_play import PaperRow, PaperRows
from apportion.environments.sotopia.reports.raters import JUDGE

POLICY = "Qwen/Qwen2.5-7B-Instruct"
"""What both papers train."""
_AS = {"ppdpp": "ppdpp@ppdpp", "epo": "epo@epo", "dat": "dat@dat"}


def _trained(name: str) -> PaperRow:
    made = f"apportion train player {name} sotopia {name} --policy {POLICY}"
    return PaperRow(name, _AS.get(name, f"policy@{name}"), (made,))


TRAINED = {name: _trained(name) for name in ("sotopia-pi", "dsi", "sdpo", "ppdpp", "epo", "dat")}
"""By name; DSI is what the Stackelberg Speaker calls SOTOPIA-Omega."""
_LEARNED_FROM = (
    "apportion world simulate sotopia play --agents base --model gpt-4o",
    "apportion world evaluate play --model gpt-4o",
)
"""SAVOIR, section 4: GPT-4o's play with itself."""
_CORPUS = r"""corpus = "play-judged"\nrating = "GOAL"\n"""
_BEGUN = (
    rf"""printf '{_CORPUS}output = "runs/sft"\nalign.preset = "savoir-sft"\n' > sft.toml""",
    "apportion run sft.toml --only align",
    "apportion policy merge runs/sft/policy begun",
)


def _credited(name: str, method: str) -> PaperRow:
    """A policy that learns by GRPO from the credit of one method."""
    config = (
        rf"""{_CORPUS}output = "runs/{name}"\npreset = "savoir"\nalign.policy = "begun"\n"""
        rf"""decompose.method = "{method}"\ndecompose.llm.model = "gpt-4o"\n"""
    )
    made = (*_LEARNED_FROM, *_BEGUN, f"printf '{config}' > {name}.toml", f"apportion run {name}.toml")
    return PaperRow(name, f"policy@runs/{name}/policy", made)


SAVOIR = PaperRows(
    (
        PaperRow(POLICY.rpartition("/")[2], f"policy@{POLICY}"),
        *(TRAINED[name] for name in ("ppdpp", "epo", "dat", "dsi")),
        _credited("sotopia-rl", "sotopia-rl"),
        _credited("savoir", "savoir-paper"),
    ),
    (
        "apportion world tournament sotopia CORPUS --agents base,{agents} --partner base --model gpt-4o",
        JUDGE.replace("NAME", "gpt-4o"),
        "apportion world tables savoir CORPUS-judged --hard FILE --partner base@gpt-4o",
    ),
)
"""Table 1 of SAVOIR; its proprietary models are ``--model``, its partner is GPT-4o."""
