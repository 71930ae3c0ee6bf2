"""Answers one item after the other, as a process of its own that a test kills: STUDY PLACE ANNOTATOR."""

import sys
from pathlib import Path

from apportion.study.design.folder import StudyFolder
from apportion.study.store.rows import Answer
from apportion.study.store.store import Store
from tests.study.studies import answers_to


def main(folder, place, name):
    store = Store.open(place, StudyFolder.open(Path(folder)))
    print("ready", flush=True)
    for item in store.places(name):
        before = store.answer_of(name, item)
        revision = 0 if before is None else before.revision
        answer = Answer(answers_to(store.study.criteria, store.study.items[item]), f"{item} {revision}", seconds=1)
        saved = store.save(name, item, answer, revision, f"{item}-{revision}")
        print(f"{saved.item} {saved.revision}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
