"""Reply caches and what may happen to their files."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from apportion.llm_client.cache.cache import CachedReply, ReplyCache
from apportion.llm_client.request import ChatReply

ROOT = Path(__file__).resolve().parents[3]
REPLIES = 120
USD = 0.01
PAGE = 4096


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def reply(number):
    return ChatReply(f"text {number} é " + "x" * (number * 37 % 9000), "m", 1, 1)


def filled(path, log=False):
    """A cache with replies short and long; with ``log`` as a kill leaves it, most of it not in the file itself yet."""
    cache = ReplyCache(path)
    for start in range(0, REPLIES, 10):
        cache.put_all([CachedReply(key(number), reply(number), USD) for number in range(start, start + 10)])
    if log:
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(path.with_name(name), path.with_name(f"copied-{name}"))
    cache.close()
    if log:
        for name in (path.name, f"{path.name}-wal"):
            path.with_name(f"copied-{name}").replace(path.with_name(name))
    return path


def found(path, but=None):
    """How many replies the cache has, each of them the one that was kept; that of ``but`` is another."""
    cache = ReplyCache(path)
    try:
        replies = {number: cache.get(key(number)) for number in range(REPLIES) if number != but}
    finally:
        cache.close()
    assert all(kept in (None, reply(number)) for number, kept in replies.items())
    return sum(kept is not None for kept in replies.values())


def half(raw):
    return raw[: len(raw) // 2]


def inside_a_page(raw):
    return raw[: len(raw) * 3 // 4 + 100]


def zeroed_header(raw):
    return bytes(100) + raw[100:]


def zeroed_first_page(raw):
    return bytes(PAGE) + raw[PAGE:]


def zeroed_pages(raw):
    return raw[: 20 * PAGE] + bytes(10 * PAGE) + raw[30 * PAGE :]


DAMAGES = [half, inside_a_page, zeroed_header, zeroed_first_page, zeroed_pages]

USER = """
import sys
from pathlib import Path
from apportion.llm_client.cache.cache import CachedReply, ReplyCache
cache = ReplyCache(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
"""


def user(path):
    """Another process that has the cache open."""
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == "open\n"
    return process
