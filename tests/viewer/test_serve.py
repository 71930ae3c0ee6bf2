import socket

import pytest

from apportion.foundation.errors import InputError
from apportion.viewer import serve
from apportion.viewer.serve import is_loopback, listening, own_names


def test_a_port_that_is_taken_is_named_and_another_is_found():
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(InputError, match=rf"port {port} is taken\. Choose another with --port"),
            listening("127.0.0.1", port),
        ):
            pass


def test_without_a_port_the_next_free_one_is_taken(monkeypatch):
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        monkeypatch.setattr(serve, "PORT", port)
        with listening("127.0.0.1", None) as second:
            assert port < second.getsockname()[1] < port + serve.TRIED
        monkeypatch.setattr(serve, "TRIED", 1)
        with pytest.raises(InputError, match=rf"ports {port} to {port} are taken"), listening("127.0.0.1", None):
            pass


def test_a_host_that_is_none_or_not_this_machine_s():
    with (
        pytest.raises(InputError, match=r"--host none\.invalid: no address of that name"),
        listening("none.invalid", 0),
    ):
        pass
    with pytest.raises(InputError, match=r"has to be an address of this machine"), listening("192.0.2.1", 0):
        pass


def test_a_port_that_this_user_may_not_take(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(InputError, match=r"--port 80: this user may not take it"), listening("127.0.0.1", 80):
        pass


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_what_only_this_machine_can_reach(host, own):
    assert is_loopback(host) is own
    assert (socket.gethostname().lower() in own_names(host)) is not own or socket.gethostname() == "localhost"
