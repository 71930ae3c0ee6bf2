import pyarrow as pa

from apportion.corpus.schema import HISTORIES, HISTORY
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.engine.store import Store
from apportion.pipeline.engine.training_curves import training_curves


def test_the_histories_of_all_trained_units_one_below_the_other(tmp_path):
    store = Store(tmp_path)

    def made(stage, number, **tables):
        return store.commit(stage, str(number) * 64, store.scratch(), tables, {})

    def history(value):
        return pa.Table.from_pylist([{"step": 1, "metric": "loss", "value": value}], schema=HISTORY.arrow)

    other = pa.table({"a": [1]})
    finished = {
        "split": {Unit(): made("split", 1, splits=other)},
        "fit": {Unit(method="rrd", seed=s): made("fit", 2 + s, history=history(s), judgements=other) for s in (0, 1)},
        "align": {Unit(method="rrd", seed=0): made("align", 4, history=history(0.5))},
    }
    curves = training_curves(finished)
    assert curves.schema == HISTORIES.arrow
    assert [tuple(row.values()) for row in curves.to_pylist()] == [
        ("fit", "rrd", 0, 1, "loss", 0.0),
        ("fit", "rrd", 1, 1, "loss", 1.0),
        ("align", "rrd", 0, 1, "loss", 0.5),
    ]
    assert training_curves({"split": finished["split"]}) is None
