"""What is known after some labels: how many dialogues are still to go, and then whether replies tell anything here."""

from __future__ import annotations

from collections import defaultdict

from apportion.decompose.corpus_methods.stacked import OF_REPLIES
from apportion.decompose.method import ReactionMethod
from apportion.decompose.methods import METHODS
from apportion.evaluation.figures.trust import ASKED, told, trust
from apportion.evaluation.settings import EvaluationSettings
from apportion.viewer.data.index import Index
from apportion.viewer.data.session import read_session
from apportion.viewer.data.session_ref import is_of_words, named
from apportion.viewer.labels.label_store import Labels
from apportion.viewer.views.label_view import mean_rewards, turns_to_label


def what_labels_say(index: Index, labels: Labels, name: str) -> list[str]:
    """The sentences for the labels of one question, by whomever: a countdown until `ASKED` dialogues are labelled
    whole, then the verdict and a line a method.
    """
    given = [label for label in labels.standing.values() if label.name == name and label.value is not None]
    there = named(index, (label.session_id for label in given))
    by_turn: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for label in given:
        if label.value is not None and is_of_words(label, there.get(label.session_id)):
            by_turn[label.session_id][label.turn].append(label.value)
    done, values = 0, defaultdict[str, dict[str, dict[int, float]]](dict)
    for session_id, turns in by_turn.items():
        tables = read_session(index, there[session_id].slug)
        if tables is None:
            continue
        done += turns_to_label(tables) <= turns.keys()
        for (turn, method), reward in mean_rewards(tables).items():
            values[method].setdefault(session_id, {})[turn] = reward
    if done < ASKED:
        return [f"{ASKED - done} of {ASKED} dialogues to go until it is told whether replies tell anything here."]
    means = {s: {turn: sum(of) / len(of) for turn, of in turns.items()} for s, turns in by_turn.items()}
    others = {name for name in values if not (name in OF_REPLIES or isinstance(METHODS.get(name), ReactionMethod))}
    return told(trust(means, values, EvaluationSettings().labelled_turns), others)
