"""A film of the demo in a bucket and on a web server gives the tables of the file."""

import dataclasses
from pathlib import Path

import pytest

from apportion.corpus import Corpus
from apportion.corpus.recordings import fetched
from apportion.corpus.recordings.addresses import HOSTS
from apportion.features.extract import extract_session
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import UnitError
from apportion.pipeline.engine.store import InputHashes
from tests.corpus.recordings.web import serve

DEMO = Path(__file__).resolve().parents[3] / "demo" / "corpus"


@pytest.fixture
def bucket(monkeypatch):
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("films")
    yield files
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


# Looking at the pictures of one film three times takes half a minute.
@pytest.mark.parametrize("kind", ["audio", pytest.param("video", marks=pytest.mark.slow)])
def test_features_of_a_bucket_and_of_a_web_server_are_those_of_the_file(kind, bucket, monkeypatch, tmp_path):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    monkeypatch.setattr(fetched, "_seen", {})
    session = Corpus.open(DEMO).session("video-4")
    film = next(media for media in session.media if media.speaker == "bea")
    settings = FeatureSettings()
    bucket.put_file(str(DEMO / film.path), "films/a/bea.mp4")
    with serve() as web:
        web.files["/bea.mp4"] = (DEMO / film.path).read_bytes()
        found, hashes = [], []
        for path in (film.path, "s3://films/a/bea.mp4", f"{web.url}/bea.mp4"):
            one = dataclasses.replace(session, media=(dataclasses.replace(film, path=path, kind=kind),))
            found.append(extract_session(one, DEMO, settings))
            hashes.append(InputHashes(DEMO, tmp_path / "store")._recording(path))
    assert found[0] == found[1] == found[2] and len(set(hashes)) == 1
    with pytest.raises(UnitError, match=r"session video-4: s3://films/none.mp4 is not there"):
        extract_session(
            dataclasses.replace(session, media=(dataclasses.replace(film, path="s3://films/none.mp4"),)), DEMO, settings
        )
