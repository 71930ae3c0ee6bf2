"""The ten questions on a negotiating agent as a set of criteria: their wording is that of the study in the terminal."""

from __future__ import annotations

from apportion.environments.negotiation.human_study.survey import HIGH, LOW, SURVEY, Question
from apportion.foundation.toml_text import toml_text

HEAD = """\
# Ten questions on an agent that negotiated: the wording of Table 1 of Kwon et al. The paper gives no scales but
# "5-point Likert" (section 6.2); what their ends mean is ours. They are told as they were answered: a high value of
# `pushover` and of `difficulty` is not a good one. The tenth question is the one that is answered in words.
title = "What people thought of a negotiator"
source = "Kwon et al., Table 1; section 6.2 (5-point Likert scale)"
"""


def negotiation_toml() -> str:
    """The set as TOML; `apportion.environments.negotiation.human_study.survey` says the questions."""
    parts = [HEAD]
    parts += [_criterion(question) for question in SURVEY if question.scaled]
    (words,) = (question for question in SURVEY if not question.scaled)
    parts.append(f"[reason]\nquestion = {toml_text(words.text)}\nrequired = false\n")
    return "\n".join(parts)


def _criterion(question: Question) -> str:
    values = {
        "name": question.name,
        "question": question.text,
        "kind": "rating",
        "about": "dialogue",
        "low": LOW,
        "high": HIGH,
        "anchors": {LOW: question.low, HIGH: question.high},
    }
    return "[[criteria]]\n" + "".join(f"{name} = {toml_text(value)}\n" for name, value in values.items())
