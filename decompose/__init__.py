"""Every way from one score of a conversation to a reward for each of its turns.

From the ground up: `method` (what a way declares of itself), `methods` (the registry of all ways), `judgement` (what a
method says of a turn), `presets` (published settings), `savoir_settings` (who plays on, who scores),
`influence_settings` (which model measures, and against what), `mix_settings` (which opinions are mixed), `settings`,
`asking` (the language model of a decomposition), `casting` (who plays sessions on); then `prompting` (how a language
model is asked), `reactions` (what the rater's replies tell), `sources` (opinions on turns, wherever they come from),
`shapley` (values of the players of any game); `projection` (judgements to rewards that sum to the score, by default
less the training mean), `identity` (what of the settings decides a method's values), `notes` (what a reader has to know
of them), `judging` (methods to which one session is enough); `influence` (how far an utterance moves what is said
next); `learning` (methods that are learned on a corpus), `audit` (the same question asked in several ways),
`conversation` (one conversation from Python), `reward_models` (which reward models learn from them). `prompts` holds
the prompts' texts.

>>> from decompose import decompose
>>> chat = [
...     {"role": "assistant", "content": "Which city?"},
...     {"role": "user", "content": "Rome, great!"},
...     {"role": "assistant", "content": "There is no such place."},
...     {"role": "user", "content": "Terrible."},
... ]
>>> [round(turn.reward, 2) for turn in decompose(chat, 2, scale=(1, 5), method="sentiment").turns]
[1.57, 0.43]

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from decompose.conversation import Decomposition, TurnReward, decompose
    from decompose.judgement import Judgement
    from decompose.judging.llm import requests_for
    from decompose.judging.requests import RequestMeta
    from decompose.judging.sessions import judge_session
    from decompose.method import Method
    from decompose.projection import project
    from decompose.settings import DecomposeSettings
    from decompose.shapley.values import shapley_values
    from llm_client.asker import Asker

__all__ = [
    "Asker",
    "DecomposeSettings",
    "Decomposition",
    "Judgement",
    "Method",
    "RequestMeta",
    "TurnReward",
    "decompose",
    "judge_session",
    "project",
    "requests_for",
    "shapley_values",
]

_HOMES = {
    "Asker": "llm_client.asker",
    "DecomposeSettings": "decompose.settings",
    "Decomposition": "decompose.conversation",
    "Judgement": "decompose.judgement",
    "Method": "decompose.method",
    "RequestMeta": "decompose.judging.requests",
    "TurnReward": "decompose.conversation",
    "decompose": "decompose.conversation",
    "judge_session": "decompose.judging.sessions",
    "project": "decompose.projection",
    "requests_for": "decompose.judging.llm",
    "shapley_values": "decompose.shapley.values",
}
__getattr__ = lazy_names(__name__, _HOMES)
