"""Certificates that nobody has signed, made by openssl, and the TLS contexts of servers that show them."""

from __future__ import annotations

import ssl
import subprocess
import time
from pathlib import Path


def certificate(folder: Path, *names: str, expired: bool = False) -> Path:
    """A PEM file with a key and its self-signed certificate for ``names`` (``DNS:localhost``, ``IP:127.0.0.1``)."""
    path, key, request, names_file = (folder / name for name in ("certificate.pem", "key.pem", "request.pem", "names"))
    names_file.write_text(f"subjectAltName={','.join(names)}")
    openssl(
        "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=a server of the tests", "-keyout", str(key), "-out", str(request),
    )  # fmt: skip
    days = "0" if expired else "2"
    openssl(
        "x509", "-req", "-in", str(request), "-signkey", str(key), "-days", days, "-extfile", str(names_file),
        "-out", str(path),
    )  # fmt: skip
    if expired:
        time.sleep(1.1)  # It is valid for the second in which it was made.
    path.write_text(path.read_text() + key.read_text())
    return path


def openssl(*arguments: str) -> None:
    """Run openssl to its end."""
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def server_context(path: Path) -> ssl.SSLContext:
    """A server's side of TLS with the certificate and key in ``path``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
