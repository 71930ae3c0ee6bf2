"""Claims on 1,000 USS SGD sessions: import in under 5 s, rrd + 3 epochs + evaluation in under 8 minutes on 2 cores.

Run: python -m benchmarks.text_chain ../shared/data/uss/SGD.txt.gz [--trained | --import-only]

The default keeps the encoder frozen and its embeddings cached (claim: under 8 minutes); --trained trains it on a
history of 3 turns (claim: under 30 minutes). There is no peer: nothing else runs this chain.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.measure import tell, timed

CONFIG = """
corpus = "corpus"
output = "run"
[run]
threads = {threads}
[decompose]
method = "rrd"
[train_reward]
epochs = 3
history_turns = 3
freeze_backbone = {frozen}
"""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--trained", action="store_true", help="train the encoder too")
    parser.add_argument("--import-only", action="store_true", help="stop after the import")
    parser.add_argument("--threads", type=int, default=2, help="torch threads (run.threads)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus, config = Path(folder) / "corpus", Path(folder) / "config.toml"
        seconds, _ = timed(["import", "uss", str(arguments.source), str(corpus)])
        tell("import uss", seconds, "s", source=arguments.source.name)
        if arguments.import_only:
            raise SystemExit
        config.write_text(CONFIG.format(frozen=str(not arguments.trained).lower(), threads=arguments.threads))
        seconds, peak = timed(["run", "--only", "evaluate", str(config)])
        name = "text chain, encoder trained" if arguments.trained else "text chain, encoder frozen"
        tell(name, seconds / 60, "min", peak_mib=round(peak), threads=arguments.threads, source=arguments.source.name)
