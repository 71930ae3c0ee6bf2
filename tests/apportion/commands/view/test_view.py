import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.behaviour.command import apportion, environment, in_process
from tests.interrupts import hear_ctrl_c
from tests.viewer.runs import write_viewed_run

pytest.importorskip("fastapi", reason="the extra `view` is not installed")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_viewed_run(tmp_path_factory.mktemp("view"), sessions=6)


@contextmanager
def viewing(run, *options, **changes):
    """The command in a process of its own, once it has printed its address; the address is given, too."""
    command = [sys.executable, "-m", "apportion", "view", str(run), "--port", "0", *options]
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": hear_ctrl_c}
    process = subprocess.Popen(command, env=environment(**changes), **heard)
    try:
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            printed += line
        yield process, re.search(r"http://\S+", printed)[0]
    finally:
        process.kill()
        process.wait()


def test_it_prints_an_address_that_opens_and_ctrl_c_ends_it(run):
    with viewing(run, "--no-browser") as (process, address):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert "Opening" in opener.open(address, timeout=30).read().decode()
        page = opener.open(address.partition("?")[0], timeout=30).read().decode()
        assert "s03" in page
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.partition("?")[0], timeout=30)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_a_browser_is_opened_without_the_token_on_a_command_line(run, tmp_path):
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    told = f'{{ stat -c %a "${{1#file://}}"; cat "${{1#file://}}"; }} > {opened}; echo "$1" > {tmp_path}/argument'
    script.write_text(f"#!/bin/sh\n{told}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with viewing(run, BROWSER=f"{script} %s") as (process, address):
        stop = time.monotonic() + 30
        while not (tmp_path / "argument").exists() and time.monotonic() < stop:
            time.sleep(0.05)
        assert opened.read_text().startswith("600\n") and address in opened.read_text()
        argument = (tmp_path / "argument").read_text().strip()
        assert argument.startswith("file://") and "token" not in argument
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    assert not Path(argument.removeprefix("file://")).exists()


@pytest.mark.slow
def test_where_there_is_no_browser_the_address_is_printed(run):
    with viewing(run, BROWSER="/none/at/all", PATH="/none") as (process, address):
        time.sleep(1.0)
        assert process.poll() is None and "token=" in address


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_other_machines_are_let_in_only_where_that_is_said(run, host, monkeypatch):
    done = in_process(monkeypatch, "view", run, "--host", host, "--no-browser")
    assert done.returncode == 2 and "Give --allow-remote if that is meant" in done.stderr


def test_what_is_opened_to_others_is_said(run):
    with viewing(run, "--no-browser", "--host", "0.0.0.0", "--allow-remote") as (process, address):
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        said = process.stderr.read()
    assert "can read all transcripts, recordings and rewards" in said and "not encrypted" in said
    assert address.startswith("http://") and "0.0.0.0" not in address


def test_a_port_that_is_taken(run, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = in_process(monkeypatch, "view", run, "--port", port, "--no-browser")
    assert done.returncode == 2 and f"port {port} is taken" in done.stderr


def test_it_begins_at_a_session_that_is_there(run, monkeypatch):
    with viewing(run, "--no-browser", "--session=s03") as (_, address):
        assert "/session/s03?token=" in address
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(address, timeout=30).read()
        assert "Hello, I need some help." in opener.open(address.partition("?")[0], timeout=30).read().decode()
    done = in_process(monkeypatch, "view", run, "--no-browser", "--session=s3")
    assert done.returncode == 2 and "--session 's3'" in done.stderr and "has no such session" in done.stderr


@pytest.mark.parametrize("name", ["none", "corpus", "config.tom"])
def test_what_is_no_run(run, name, monkeypatch):
    done = in_process(monkeypatch, "view", run.parent / name, "--no-browser")
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_without_its_libraries_it_says_what_to_install(run, tmp_path):
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('No module', name='fastapi')")
    changes = environment()
    done = apportion("view", run, PYTHONPATH=f"{tmp_path}{os.pathsep}{changes['PYTHONPATH']}")
    assert done.returncode == 2 and "pip install 'apportion[view]'" in done.stderr


@pytest.mark.parametrize("module", ["apportion.cli", "apportion.dags.calls", "apportion.pipeline.execution.shards"])
def test_nothing_else_loads_it(module):
    """Orchestrators have another FastAPI in their environments."""
    code = f"import sys, {module}; print(sorted({{'viewer', 'fastapi', 'uvicorn', 'starlette'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert done.stdout.strip() == "[]"
