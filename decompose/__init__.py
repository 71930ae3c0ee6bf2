"""Every way from one score of a conversation to a reward for each of its turns.

From the ground up: `method` (what a method declares, and what it says of a turn), `methods` (the registry),
`method_settings` (the settings of single methods), `settings` (all, and published values), `language_models` (who is
asked, who plays on); then `prompt_building` (how a language model is asked), `reply_parsing` (its reply as values, or
the mistake in it), `reactions` (what the rater's replies tell), `languages` (which a method understands), `ensembling`
(opinions on turns), `shapley` (values of the players of any game); `projection` (judgements to rewards that sum to the
score), `settings_key` (which settings decide a method's values), `caveats` (what a reader has to know of them),
`session_methods` (one session is enough), `influence` (how far an utterance moves what is said next), `corpus_methods`
(learned on a corpus), `audit` (the same question asked in several ways), `conversation` (one conversation from Python),
`reward_models` (which reward models learn from them). `prompts` holds the prompts' texts.

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

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.decompose.conversation import Decomposition, TurnReward, decompose_dialogue
    from apportion.decompose.method import (
        LLMMethod,
        LogprobMethod,
        Method,
        ObjectiveMethod,
        RolloutMethod,
        Section,
        SessionMethod,
        TurnScore,
    )
    from apportion.decompose.projection import project
    from apportion.decompose.session_methods.llm import requests_for
    from apportion.decompose.session_methods.llm_requests import RequestMeta
    from apportion.decompose.session_methods.runner import judge_session
    from apportion.decompose.settings import DecomposeSettings
    from apportion.decompose.shapley.values import shapley_values
    from apportion.llm_client.session import LLMSession

__all__ = [
    "DecomposeSettings",
    "Decomposition",
    "LLMMethod",
    "LLMSession",
    "LogprobMethod",
    "Method",
    "ObjectiveMethod",
    "RequestMeta",
    "RolloutMethod",
    "Section",
    "SessionMethod",
    "TurnReward",
    "TurnScore",
    "decompose_dialogue",
    "judge_session",
    "project",
    "requests_for",
    "shapley_values",
]

__getattr__ = lazy_names(__name__, __file__)
