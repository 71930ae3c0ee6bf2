import subprocess
import sys
from pathlib import Path

import pytest

from apportion.study.store.store import Store
from tests.study.studies import responses, study_in

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_no_confirmed_answer_is_lost_or_doubled_when_it_is_killed_three_times(place, tmp_path):
    study = study_in(tmp_path / "study", "pairs", responses(20), items_per_annotator=60, checks_every=0)
    store = Store.open(place, study)
    (link,) = store.add_links(1)
    store.agree(link.annotator)
    own = store.places(link.annotator)
    confirmed = {}
    for lines in (3, 1, 17):
        command = [sys.executable, "-m", "tests.study.store.annotating", str(study.path), str(place), link.annotator]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            for _ in range(lines):
                item, revision = process.stdout.readline().split()
                confirmed[item] = max(confirmed.get(item, 0), int(revision))
            process.kill()
            for line in process.stdout:  # Confirmed before the kill came.
                item, revision = line.split()
                confirmed[item] = int(revision)
        rows = {row.item: row for row in store.answers()}
        assert len(rows) == len(store.answers()) and set(rows) <= set(own)
        for item, revision in confirmed.items():
            # One more may be on the disk than was confirmed: it was killed in between.
            assert rows[item].revision in (revision, revision + 1)
            assert rows[item].reason == f"{item} {rows[item].revision - 1}"
        assert len(rows) <= len(confirmed) + 1
    store.close()
