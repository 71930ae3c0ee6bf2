"""A bucket as the place that hosts share: what cannot be used is told before any work, what fails is tried again."""

import errno
import pickle
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline import shared_place
from apportion.pipeline.shared_place import Bucket, Folder, StoreError, check_bucket, checked_url
from tests.behaviour.command import config
from tests.bucket_server import ENVIRONMENT, serving

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'apportion[s3]'")
URL = "s3://bucket/run"
SECRET = ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]


@pytest.fixture(scope="module")
def serving_all():
    with serving() as made:
        yield made


@pytest.fixture
def server(serving_all):
    serving_all.begin_anew()
    return serving_all


@pytest.fixture
def waits(monkeypatch):
    """How long was waited, in seconds; no time passes."""
    waited = []
    monkeypatch.setattr(shared_place.time, "sleep", waited.append)
    return waited


@pytest.mark.parametrize("place", ["folder", URL, "memory://shared-place/run"])
def test_what_one_host_leaves_another_sees(tmp_path, server, place):
    one, other = (Folder(tmp_path) if place == "folder" else Bucket(place) for _ in range(2))
    one.write("a/x/1.json", "one")
    one.write("a/xy/2.json", "zwei: ü")
    other.look_anew()
    assert other.names("a/x") == {"a/x/1.json": 3} and other.names("none") == {}
    found = other.read_all(["a/xy/2.json", "a/none.json", "a/x/1.json"])
    assert found == {"a/xy/2.json": "zwei: ü".encode(), "a/x/1.json": b"one"}
    assert other.read("a/x/1.json") == b"one" and other.read("none") is None
    other.write("a/x/3.json", "")
    assert set(other.names("a/x")) == {"a/x/1.json", "a/x/3.json"}
    one.look_anew()
    one.remove("a/x/1.json", "a")
    one.remove("a/none.json", "a")
    assert set(one.names("a/x")) == {"a/x/3.json"}
    other.clear("a")
    one.look_anew()
    assert one.names("a") == {}
    other.clear("a")


def test_what_is_noted_is_seen_soon_and_at_the_end(server, monkeypatch):
    monkeypatch.setattr(shared_place, "PUSHED_S", 0.02)
    one, other = Bucket(URL), Bucket(URL)
    one.append("activity/h.1.jsonl", "a\n")
    while not other.names("activity"):
        other.look_anew()
    monkeypatch.setattr(shared_place, "PUSHED_S", 60.0)
    one.append("activity/h.1.jsonl", "b\n")
    one.flush()
    assert list(other.read_all(other.names("activity")).values()) == [b"a\nb\n"]
    one.append("activity/h.1.jsonl", "c\n")  # of the next shard: what it has to say is an object of its own
    one.flush()
    other.look_anew()
    assert sorted(other.read_all(other.names("activity")).values()) == [b"a\nb\n", b"c\n"]
    server.refuse = lambda method, path: 503
    one.append("activity/h.1.jsonl", "d\n")
    one.flush()  # No result rests on it.


@pytest.mark.parametrize("url", ["s3://bucket/run/", "gs://my-bucket/a/b_c", "az://chats", "memory://m/x"])
def test_urls_of_stores(url):
    assert checked_url(url) == url.rstrip("/")


@pytest.mark.parametrize("url", ["ftp://bucket/run", "/srv/run", "s3://", "s3://bucket/../x", "s3:///x", "S3://bucket"])
def test_other_places_are_refused_with_what_is_allowed(url, tmp_path):
    from apportion.pipeline.config import load_config

    path = config(tmp_path, f'corpus = "corpus"\n[run]\nstore = "{url}"\n')
    with pytest.raises(InputError, match=r"run\.store = .*: allowed are s3://BUCKET/FOLDER, .*az://BUCKET/FOLDER\."):
        load_config(path)


@pytest.mark.parametrize("url", ["s3://me:{}@bucket/run", "s3://bucket/run?key={}", "s3://bucket#{}", "x://a:{}@b"])
def test_a_url_with_a_secret_is_refused_and_not_shown(url, tmp_path):
    from apportion.pipeline.config import load_config

    path = config(tmp_path, f'corpus = "corpus"\n[run]\nstore = "{url.format("my-secret")}"\n')
    with pytest.raises(InputError, match="credentials come from the environment") as caught:
        load_config(path)
    assert "my-secret" not in str(caught.value)


def test_what_cannot_be_used_is_told_before_any_work(server, monkeypatch):
    check_bucket(None)
    check_bucket(URL, writes=False)
    assert server.called("PUT") == []
    check_bucket(URL)
    check_bucket(URL)
    assert len(server.called("PUT")) == 3  # made once, and written each time
    with pytest.raises(InputError, match=r"run.store = 's3://nosuch/run': there is no such bucket. Make it"):
        check_bucket("s3://nosuch/run")
    server.refuse = lambda method, path: 403 if method == "PUT" else None
    with pytest.raises(InputError, match=r"'s3://bucket/run': not allowed \(PermissionError.*Check the credentials"):
        check_bucket(URL)
    with pytest.raises(InputError, match=r"a process' own memory, and a run has several\. Take s3, gs or az"):
        check_bucket("memory://bucket/run")


@pytest.mark.parametrize(
    ("url", "told"),
    [(URL, r"s3fs.*'apportion\[s3\]'`"), ("gs://b/x", "gcsfs.*install gcsfs`"), ("az://b", "adlfs.*adlfs`")],
)
def test_a_missing_package_names_what_installs_it(url, told, monkeypatch):
    monkeypatch.setattr(shared_place, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=f"run.store = '{url}' needs {told}"):
        check_bucket(url)


def test_without_credentials_it_is_told_at_once(server, waits, monkeypatch):
    for name in ENVIRONMENT:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    with pytest.raises(StoreError, match=r"NoCredentialsError: Unable to locate credentials"):
        check_bucket(URL)
    assert waits == []


def test_a_busy_store_is_asked_again_and_answers(server, waits):
    bucket = Bucket(URL)
    answers = iter([503, 500, 503, 429])
    server.refuse = lambda method, path: next(answers, None)
    bucket.write("a/1", "x")
    assert bucket.read("a/1") == b"x" and next(answers, "all") == "all"
    assert len(waits) == 4 and all(0.5 <= wait / most <= 1 for wait, most in zip(waits, shared_place.WAITS_S))  # noqa: B905


def test_a_store_that_stays_busy_ends_in_one_clear_error(server, waits):
    bucket = Bucket(URL)
    assert bucket.identity
    server.refuse = lambda method, path: 503
    with pytest.raises(
        StoreError, match=r"s3://bucket/run: the store does not do its part, .* 503.* same command again"
    ):
        bucket.write("a/1", "x")
    assert len(waits) == len(shared_place.WAITS_S)


@pytest.mark.parametrize(("user", "told"), [("", "Could not connect"), (f"me:{SECRET}@", "not a valid URI")])
def test_no_server_is_told(server, waits, monkeypatch, user, told):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{user}127.0.0.1:9")
    with pytest.raises(StoreError, match=told) as caught:
        check_bucket(URL)
    assert SECRET not in str(caught.value) and pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


class Raises:
    """A file system whose every call raises ``error``."""

    def __init__(self, error):
        self.error, self.modes = error, []

    def _strip_protocol(self, url):
        return url

    def __getattr__(self, name):
        def call(*given, **more):
            self.modes.append(more.get("mode"))
            if self.error is not None:
                raise self.error

        return call


def status(number, kind=RuntimeError):
    error = kind(f"of {number}")
    error.status_code = number
    return error


@pytest.mark.parametrize(
    ("error", "kind", "tried"),
    [
        (status(400), StoreError, False),
        (TypeError("no such argument"), StoreError, False),
        (OSError(errno.EIO, "reset by peer"), StoreError, True),
        (status(429), StoreError, True),
        (status(401), shared_place.RefusedError, False),
        (OSError(errno.ENOSPC, "No space left on device"), OSError, False),
        (status(412), FileExistsError, False),
        (FileNotFoundError(), shared_place.RefusedError, False),
    ],
)
def test_other_stores_errors_are_told_apart_by_what_they_say(error, kind, tried, waits, tmp_path):
    bucket = Bucket("gs://bucket/run")
    bucket.__dict__["_files"] = Raises(error)
    with pytest.raises(kind):
        bucket.put(tmp_path / "x", "a/1", replace=False)
    assert len(waits) == tried * len(shared_place.WAITS_S)


def test_where_there_is_no_conditional_put_the_last_writer_wins(tmp_path):
    bucket = Bucket("gs://bucket/run")
    bucket.__dict__["_files"] = files = Raises(status(501))

    def second(*given, **more):
        files.modes.append(more.get("mode"))
        if more.get("mode") == "create":
            raise status(501)

    files.put_file = second
    bucket.put(tmp_path / "x", "a/1", replace=False)
    assert files.modes == ["create", None]


def test_missing_objects_are_missing(server, tmp_path):
    with pytest.raises(FileNotFoundError):
        Bucket(URL).get("artifacts/none.tar", tmp_path / "x")
    bucket = Bucket("az://bucket/run")
    bucket.__dict__["_files"] = Raises(FileNotFoundError())
    assert bucket.names("a") == {}


def test_secrets_of_the_environment_are_in_no_message(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sig=0123456789")
    told = shared_place._without_secrets("https://me:pw123456@host/x?sig=0123456789 refused")
    assert told == "https://host/x?[key] refused"
    assert Path(__file__).name not in told
