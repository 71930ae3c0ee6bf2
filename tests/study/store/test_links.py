from study.store.links import Link, hashed, new_token


def test_tokens_are_long_others_each_time_and_need_no_escape():
    tokens = {new_token() for _ in range(1_000)}
    assert len(tokens) == 1_000 and {len(token) for token in tokens} == {32}
    assert set("".join(tokens)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_hash_tells_a_token_from_others():
    assert hashed("one") == hashed("one") != hashed("two") and len(hashed("\udcff")) == 64


def test_an_address_has_the_token_in_its_path():
    assert Link("a001", "T").address("http://127.0.0.1:8617") == "http://127.0.0.1:8617/a/T"
