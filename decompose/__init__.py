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

>>> from apportion.decompose import decompose_dialogue
>>> chat = [
...     {"role": "assistant", "content": "Which city?"},
...     {"role": "user", "content": "Rome, great!"},
...     {"role": "assistant", "content": "There is no such place."},
...     {"role": "user", "content": "Terrible."},
... ]
>>> [round(turn.reward, 2) for turn in decompose_dialogue(chat, 2, scale=(1, 5), method="sentiment").turns]
[1.57, 0.43]

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.decompose.conversation import Decomposition, TurnReward, decompose_dialogue
    from apportion.decompose.judgement import Judgement
    from apportion.decompose.judging.llm import requests_for
    from apportion.decompose.judging.requests import RequestMeta
    from apportion.decompose.judging.sessions import judge_session
    from apportion.decompose.method import Method
    from apportion.decompose.projection import project
    from apportion.decompose.settings import DecomposeSettings
    from apportion.decompose.shapley.values import shapley_values
    from apportion.llm_client.asker import Asker

__all__ = [
    "Asker",
    "DecomposeSettings",
    "Decomposition",
    "Judgement",
    "Method",
    "RequestMeta",
    "TurnReward",
    "decompose_dialogue",
    "judge_session",
    "project",
    "requests_for",
    "shapley_values",
]

_HOMES = {
    "Asker": "apportion.llm_client.asker",
    "DecomposeSettings": "apportion.decompose.settings",
    "Decomposition": "apportion.decompose.conversation",
    "Judgement": "apportion.decompose.judgement",
    "Method": "apportion.decompose.method",
    "RequestMeta": "apportion.decompose.judging.requests",
    "TurnReward": "apportion.decompose.conversation",
    "decompose_dialogue": "apportion.decompose.conversation",
    "judge_session": "apportion.decompose.judging.sessions",
    "project": "apportion.decompose.projection",
    "requests_for": "apportion.decompose.judging.llm",
    "shapley_values": "apportion.decompose.shapley.values",
}
__getattr__ = lazy_names(__name__, _HOMES)
