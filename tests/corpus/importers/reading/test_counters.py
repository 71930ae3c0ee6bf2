from apportion.corpus.importers.reading.json_items import SkipCounter


def test_lines():
    tally, other = SkipCounter(), SkipCounter()
    tally.add("turns lost", "a", 2)
    tally.add("turns lost", "b", 0)
    other.add("turns lost", "c", 1)
    for id_ in "abcd":
        other.add("unrated", id_, detail="no survey" if id_ == "a" else None)
    tally.take(other)
    assert tally.notes() == (
        "turns lost: 3 in 2 sessions (a; c)",
        "unrated: 4 sessions (a: no survey; b; c; …)",
    )
    tally = SkipCounter()
    tally.add("odd", "a")
    assert tally.notes() == ("odd: 1 session (a)",)
