"""Certificates that nobody has signed, made by openssl, and the TLS contexts of servers that show them."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def certificate(folder: Path, *names: str) -> Path:
    """A PEM file with a key and its self-signed certificate for ``names`` (``DNS:localhost``, ``IP:127.0.0.1``)."""
    path, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=a server of the tests", "-addext", f"subjectAltName={','.join(names)}",
        "-keyout", str(key), "-out", str(path), "-days", "2",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


def server_context(path: Path) -> ssl.SSLContext:
    """A server's side of TLS with the certificate and key in ``path``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
