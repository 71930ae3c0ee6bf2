"""Learn `reactions-en` again, from the dialogues and the recorded judgements beside this file.

Run: python -m apportion.demo.reactions_en.learn [--out FILE.safetensors]     (without --out it says how far the shipped
one is)
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.chat import import_corpus
from apportion.corpus.session import Session
from apportion.decompose.methods import METHODS, REACTIONS_EN
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions, arrange, read_session
from apportion.decompose.reactions.pretrained import Prior, PriorCard, TrainingProvenance, read_prior, write_prior
from apportion.decompose.reactions.student import Student, learn_student
from apportion.decompose.reply_parsing import parse_reply
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.model_hub.names import model_digest
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatRequest

HERE = Path(__file__).resolve().parent
DIALOGUES, JUDGEMENTS = HERE / "dialogues.jsonl", HERE / "judgements.jsonl"
RATING = "score"
SETTINGS = ReactionSettings()
NOTES = (
    "a student of a language model's judgements: no person rated anything, and nothing of any other corpus taught it",
    "the 440 dialogues are made up by the same model; what turn labels of half of USS SGD and ReDial (half A) showed "
    "led to four choices: the second set of 110, ordinary conversations, was asked for; the cues were kept to those of "
    "the reply; the judgements as they are; and the penalty is the one that travels from one set to the other, not the "
    "one that leaving out dialogues prefers",
    "the judgements of the second set are by the conversation that wrote it, those of the first by others",
    "English text; it reads the user's reply to a turn and nothing else, and says nothing of a turn without a reply",
)


def sessions() -> list[Session]:
    """The made-up dialogues, by id."""
    return list(Corpus.of(HERE, import_corpus(DIALOGUES, {"low": "1", "high": "5"}).tables).iter_sessions())


def request(session: Session) -> tuple[ChatRequest, tuple[int, ...]]:
    """What was asked of the model about a dialogue, in the words of the prompt `blind`, and for which turns."""
    plain = DecomposeSettings()
    llm = plain.llm.model_copy(update={"model": "claude", "prompt": "blind"})
    ((asked, meta),) = session_requests(METHODS["llm"], session, RATING, None, plain.model_copy(update={"llm": llm}))
    return asked, meta.turns


def judged(session: Session, replies: RecordedReplies) -> Floats:
    """The recorded value of each target turn [shape=(T,)], from -5 to 5; NaN for null."""
    asked, turns = request(session)
    reply = replies.find(asked)
    if reply is None:
        raise SystemExit(f"{JUDGEMENTS}: no reply to session {session.session_id}. The prompt 'blind' has changed.")
    return np.array([np.nan if one.value is None else one.value for one in parse_reply(reply.text, turns, -5, 5)])


def read(found: list[Session]) -> Reactions:
    """What is read of all replies."""
    table = pa.concat_tables([read_session(session, RATING, SETTINGS) for session in found])
    return arrange(table, [episode for session in found for episode in session.episodes(RATING)])


def learn() -> tuple[Prior, Student]:
    """The model and its card."""
    found = sessions()
    reactions, replies = read(found), RecordedReplies(JUDGEMENTS)
    by_id = {session.session_id: session for session in found}
    values = np.concatenate([judged(by_id[episode.session_id], replies) for episode in reactions.episodes])
    sets = {row["id"]: row["set"] for row in map(json.loads, DIALOGUES.read_text("utf-8").splitlines())}
    student = learn_student(reactions, values, [sets[episode.session_id] for episode in reactions.episodes])
    taught = TrainingProvenance(
        corpus="demo/reactions_en/dialogues.jsonl (made up)",
        ground="judgements",
        by=f"{replies.header.model}, {replies.header.date}",
        rating="the user's feeling after each turn (prompt blind)",
        sessions=len(found),
        turns=len(values),
        licence="Apache-2.0",
        language="en",
        sha256=hashlib.sha256(DIALOGUES.read_bytes() + JUDGEMENTS.read_bytes()).hexdigest(),
    )
    card = PriorCard(
        name=REACTIONS_EN.stem,
        learnt_from=(taught,),
        licence="Apache-2.0",
        reading=SETTINGS.reading(),
        backbone=model_digest(SETTINGS.backbone),
        width=reactions.embeddings.shape[1],
        cues=CUES,
        adapts=False,
        penalty=student.penalty,
        notes=NOTES,
    )
    return Prior(card, student.centre, student.scale, student.weights), student


def main(out: Path | None) -> None:
    """Learn it; write it, or compare it with the one that is shipped."""
    torch.set_num_threads(1)
    learnt, student = learn()
    print(f"agreement on the set left out, by penalty: {np.round(student.agreement, 4).tolist()}")
    if out is not None:
        write_prior(out, learnt)
        print(f"{out} written: {learnt.card.told()}")
        return
    shipped = read_prior(REACTIONS_EN)
    away = float(np.abs(learnt.weights - shipped.weights).max() / np.abs(shipped.weights).max())
    print(f"largest difference from the shipped weights, as a share of the largest weight: {away:.2e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    main(parser.parse_args().out)
