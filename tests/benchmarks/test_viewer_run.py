from apportion.viewer.data.listing import Query, listing
from apportion.viewer.data.run import serve_run
from apportion.viewer.data.run_location import open_place
from apportion.viewer.data.session import read_session
from benchmarks.viewer_run import METHODS, write_synthetic_run


def test_a_small_one_is_read_whole(tmp_path):
    run = serve_run(open_place(write_synthetic_run(tmp_path, sessions=60, long=200)))
    first = listing(run.index, Query(method="llm"))
    assert (first.page.found, first.page.pages) == (61, 2) and all(row.spark for row in first.rows)
    assert all(0 < row.disagreement < 1 for row in first.rows)
    long = read_session(run.index, "long")
    assert long is not None and len(long.session.turns) == 200 and len(long.rewards) == 100 * len(METHODS)
