"""Synthetic talk of several players round a table, with backgrounds, scored by an environment's rules: no real play."""

import random
from pathlib import Path

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT

NAMES = ("Dora", "P0412", "Ann Lee", "emil", "user", "Zoë", "Bot-7")
"""A name, a number, two words, a lower case, a role, an accent, a role with a number: what speakers are called."""
GOALS = ("Find the spy.", "Win a friend.", "Keep your secret.")
GOOD = ("Great, thank you, I agree with all of that.", "That is a wonderful idea, {}.", "Yes, {} is right, well done.")
BAD = ("That is useless, {}.", "No, I hate this.", "{} lies,\n{}: I confess.")


def write_table_talk(folder: Path, players: int, sessions: int = 12, rounds: int = 5) -> Path:
    """Sessions in which each of ``players`` speaks ``rounds`` times and gets a score of its own.

    A player's score (0 to 10, name ``outcome``, annotator ``rules``) is the share of its friendly turns. Turn labels
    are computed by rules from the same, with two people's noisy judgements of every turn beside them.
    """
    chance = random.Random(11)
    rows = CorpusRows()
    names = NAMES[:players]
    for number in range(sessions):
        session_id = f"table-{number:02d}"
        rows.session(session_id, "synthetic", language="en")
        rows.background(session_id, "scenario", "Friends meet after a long time.")
        rows.background(session_id, "rules", "Everybody speaks as often as anybody else.")
        for place, name in enumerate(names):
            rows.background(session_id, "goal", f"{GOALS[place % len(GOALS)]} (only for {name})", name)
        friendly = dict.fromkeys(names, 0)
        kindness = {name: chance.random() for name in names}
        turn = 0
        for _ in range(rounds):
            for name in chance.sample(names, players):
                kind = chance.random() < kindness[name]
                friendly[name] += kind
                text = chance.choice(GOOD if kind else BAD).replace("{}", chance.choice(names))
                rows.utterance(session_id, turn, name, text)
                rows.label(session_id, turn, "worth", float(kind), (0.0, 1.0), "computed:rules")
                for judge in ("ann", "bea"):
                    rows.label(session_id, turn, "quality", float(kind != (chance.random() < 0.2)), (0.0, 1.0), judge)
                turn += 1
        for name in names:
            score = 10.0 * friendly[name] / rounds
            rows.rating(session_id, (ENVIRONMENT, name), "outcome", score, (0.0, 10.0), annotator="rules")
    Corpus.of(folder, rows.tables()).write(folder)
    return folder
