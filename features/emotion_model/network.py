"""The network that gives the eight emotions of AffectNet (the table in `apportion.features.registry`) for a face.

Source: Mollahosseini, Hasani and Mahoor, AffectNet, 2017 (the eight categories); HSEmotion (Savchenko, 2021 and on),
whose preparation of a face this repeats: the detector's box as it is, without margin, stretched to a square; RGB;
ImageNet's mean and standard deviation.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.features.emotion_model.sidecar import EmotionSidecar, read_sidecar, sidecar_path
from apportion.features.registry import EMOTIONS
from apportion.foundation.errors import InputError, UnitError

MAX_DEPTH = 64
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf; the two others are groups, which ONNX does not use."""
WIDTH = {FIXED64: 8, FIXED32: 4}

CHILDREN: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Field number to the message in it, for the messages of onnx.proto through which a tensor can be reached."""
GRAPH, OP_TYPE, EXTERNAL_DATA, DATA_LOCATION = 7, 4, 13, 14
"""Fields of ModelProto, NodeProto, TensorProto and TensorProto."""
EXTERNAL = 1


class NotOnnxError(ValueError):
    """The bytes are no ONNX model."""


def outside_references(content: bytes) -> list[str]:
    """Names of the files that a model would have read besides its own: tensor data kept elsewhere, engine caches.

    Raises ``NotOnnxError`` where ``content`` is no ONNX model. Source: onnx.proto, ModelProto of IR version 3 and on.
    """
    view = memoryview(content)
    if not any(number == GRAPH and isinstance(value, memoryview) for number, value in _fields(view)):
        raise NotOnnxError("it holds no graph")
    return list(dict.fromkeys(_references("model", view, 0)))


def _references(message: str, view: memoryview, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise NotOnnxError(f"its graphs are nested more than {MAX_DEPTH} deep")
    location, external = "?", False
    for number, value in _fields(view):
        if isinstance(value, int):
            external |= message == "tensor" and number == DATA_LOCATION and value == EXTERNAL
        elif number in CHILDREN[message]:
            yield from _references(CHILDREN[message][number], value, depth + 1)
        elif message == "node" and number == OP_TYPE and bytes(value) == b"EPContext":
            # Such a node names an engine file for one accelerator.
            yield "EPContext"
        elif message == "tensor" and number == EXTERNAL_DATA:
            entry = {key: bytes(text) for key, text in _fields(value) if isinstance(text, memoryview)}
            if entry.get(1) == b"location":
                location = entry.get(2, b"?").decode("utf-8", "replace")
    if external:
        yield location


def _fields(view: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Field numbers and values of one message: a number, or the bytes of a text or message."""
    position = 0
    while position < len(view):
        tag, position = _varint(view, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = _varint(view, position)
            yield number, value
            continue
        if wire == BYTES:
            width, position = _varint(view, position)
        elif wire in WIDTH:
            width = WIDTH[wire]
        else:
            raise NotOnnxError(f"byte {position} is no protobuf")
        if position + width > len(view):
            raise NotOnnxError("it ends in the middle")
        yield number, view[position : position + width]
        position += width


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(view):
            raise NotOnnxError("it ends in the middle")
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise NotOnnxError(f"byte {position} is no protobuf")


CPU = "CPUExecutionProvider"
PREFERRED = ("CUDAExecutionProvider", "OpenVINOExecutionProvider")
"""Used before the CPU where ONNX Runtime has them."""
DEFAULT_INPUT_PX = 224
OUTPUTS = (len(EMOTIONS), len(EMOTIONS) + 2)
"""Eight emotions, or eight and then valence and arousal, which are not used."""
MAX_BYTES = 256 * 2**20


class EmotionModel:
    """An AffectNet network on ONNX Runtime: one thread, one face at a time (batches are slower on a CPU)."""

    def __init__(self, session: Any, sidecar: EmotionSidecar, input_px: int, source: Path) -> None:
        self.input_px = input_px
        """Side of the square picture that the network takes."""
        self._session = session
        self._input = session.get_inputs()[0].name
        self._softmax = sidecar.softmax
        self._source = source
        self._places = [sidecar.order.index(name) for name in EMOTIONS]
        self._flip = sidecar.color == "bgr"
        # (x / 255 - mean) / std as one product and one difference.
        std = np.array(sidecar.std, np.float32)[:, None, None]
        self._scale = np.float32(1.0 / 255.0) / std
        self._shift = np.array(sidecar.mean, np.float32)[:, None, None] / std

    @classmethod
    def load(cls, path: Path, providers: Sequence[str] | None = None) -> EmotionModel:
        """Read the ONNX file ``path`` and the sidecar beside it.

        ``providers`` are names of ONNX Runtime's execution providers, the most wanted first; by default CUDA and
        OpenVINO where they are there. The CPU is always the last resort: a provider that is there but fails to load
        is left out with one warning.

        Raises ``InputError`` for a file that is missing, unreadable, no ONNX model, needs other files, or has other
        inputs or outputs than [1, 3, side, side] to [1, 8] or [1, 10] in float32; for a wrong sidecar; and for a
        provider that is not there.
        """
        content, sidecar = _read(path), read_sidecar(path)
        failed = {}
        for name in (*_available(providers), CPU):
            try:
                session = open_session(content, path, name)
                model = cls(session, sidecar, _input_px(session, sidecar, path), path)
                model._try_out()
                break
            except Exception as error:  # A provider fails with whatever its library raises.
                if name == CPU:
                    raise
                failed[name] = _first_line(error)
        for name, reason in failed.items():
            _warn_once(name, reason, model.provider)
        return model

    @property
    def provider(self) -> str:
        """The execution provider that runs the network."""
        name: str = self._session.get_providers()[0]
        return name

    def probabilities(self, face_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """How much a face looks like each emotion.

        ``face_rgb`` (uint8 [shape=(height, width, 3)]): the detector's box as it is, without margin; any size and
        shape. Returns probabilities in the order of ``EMOTIONS``; their sum is 1. Raises ``ValueError``: ``face_rgb``
        is empty or of another shape or type. ``UnitError``: the network gave no numbers, or no probabilities where its
        sidecar promises them.
        """
        if face_rgb.dtype != np.uint8 or face_rgb.ndim != 3 or face_rgb.shape[2] != 3 or face_rgb.size == 0:
            raise ValueError(f"a face is uint8 [height, width, 3], not {face_rgb.dtype} {list(face_rgb.shape)}")
        outputs = self._outputs(self._prepared(face_rgb))[self._places]
        if self._softmax:
            outputs = np.exp(outputs - outputs.max())
        total = float(outputs.sum())
        if not np.isfinite(total):
            raise UnitError(f"{self._source.name}: the network's output is not finite. Use another emotion model.")
        if not self._softmax and (outputs.min() < -1e-3 or abs(total - 1.0) > 0.01):
            raise UnitError(
                f"{self._source.name}: the outputs are no probabilities (their sum is {total:.3g}), though "
                f"{sidecar_path(self._source).name} says softmax = false. Set it to true."
            )
        return (np.maximum(outputs, 0.0) / total).astype(np.float32)

    def _prepared(self, face_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The network's input, float32 [shape=(1, 3, side, side)]."""
        import cv2

        square = cv2.resize(face_rgb, (self.input_px, self.input_px), interpolation=cv2.INTER_LINEAR)
        channels = (square[:, :, ::-1] if self._flip else square).transpose(2, 0, 1)
        prepared: NDArray[np.float32] = np.ascontiguousarray(channels, np.float32)[None] * self._scale - self._shift
        return prepared

    def _outputs(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """The eight outputs in the network's own order, float32 [shape=(8,)]."""
        (outputs,) = self._session.run(None, {self._input: prepared})
        of_emotions: NDArray[np.float32] = outputs[0, : len(EMOTIONS)]
        return of_emotions

    def _try_out(self) -> None:
        """Run once: a file may promise a shape that it does not keep, or fail in the middle."""
        grey = np.zeros((1, 3, self.input_px, self.input_px), np.float32)
        try:
            (outputs,) = self._session.run(None, {self._input: grey})
        except Exception as error:  # ONNX Runtime's own errors have no common base.
            raise InputError(
                f"{self._source}: fails on a picture of {self.input_px} x {self.input_px} px "
                f"({_first_line(error)}). {_OPEN_SIDE}"
            ) from None
        if outputs.shape not in [(1, count) for count in OUTPUTS]:
            raise InputError(f"{self._source}: gives {list(outputs.shape)} numbers for one face. {_ALLOWED}")


@lru_cache(maxsize=2)
def _cached(path: Path, stamp: tuple[object, ...]) -> EmotionModel:
    return EmotionModel.load(path)


def emotion_model(path: Path) -> EmotionModel:
    """``EmotionModel.load(path)``, once a process while the file and its sidecar stay as they are."""
    return _cached(path, tuple(_stamp(file) for file in (path, sidecar_path(path))))


_ALLOWED = "An emotion model gives 8 numbers a face, or 10 of which the last two are valence and arousal."
_OPEN_SIDE = 'Where the graph leaves the size of its input open, the sidecar says it: {"input_px": 260}.'


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _read(path: Path) -> bytes:
    """The file's bytes, once it is known that they are an ONNX model that needs no other file."""
    advice = "Give an ONNX file, or fetch one: apportion models fetch emotion."
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(f"{path}: {size / 2**20:,.0f} MiB; an emotion model has at most {MAX_BYTES // 2**20}.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such emotion model. {advice}") from None
    except OSError as error:
        raise InputError(f"{path}: the emotion model cannot be read ({error.strerror}). {advice}") from None
    try:
        outside = outside_references(content)
    except NotOnnxError as error:
        raise InputError(f"{path}: not an ONNX model ({error}). {advice}") from None
    if outside:
        # Such a path could lead anywhere on this machine, and the run's keys hash this one file.
        raise InputError(
            f"{path}: keeps a part of itself in other files ({', '.join(outside[:3])!r}), which are not followed. "
            "Save the model as one file (onnx.save_model with save_as_external_data=False)."
        )
    return content


def _available(providers: Sequence[str] | None) -> list[str]:
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError(f"ONNX Runtime cannot be loaded ({error}). Install it: docs/guides/install.md.") from None
    there = onnxruntime.get_available_providers()
    if providers is None:
        return [name for name in PREFERRED if name in there]
    for name in providers:
        if name not in there:
            raise InputError(
                f"provider {name!r}: ONNX Runtime has {', '.join(there)} here. See docs/guides/install.md."
            )
    return [name for name in providers if name != CPU]


def open_session(content: bytes, path: Path, provider: str) -> Any:
    """A session of ONNX Runtime on ``provider``, with the CPU for what it cannot do, in one thread.

    ``content``: the model's bytes; ``path``: the file that messages name. Raises ``InputError``: ONNX Runtime cannot
    load it, or not on ``provider``.
    """
    import onnxruntime

    # What goes wrong is said in our words; ONNX Runtime would print its own beside them.
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.load_model_format", "ONNX")
    wanted = list(dict.fromkeys((provider, CPU)))
    try:
        session = onnxruntime.InferenceSession(content, options, providers=wanted, enable_fallback=0)
    except Exception as error:  # ONNX Runtime's own errors have no common base.
        raise InputError(
            f"{path}: ONNX Runtime cannot load it ({_first_line(error)}). The file is damaged, or made for another "
            "version of ONNX Runtime or with operators of its own."
        ) from None
    if session.get_providers()[0] != provider:
        raise InputError(f"{provider} did not load: its libraries may be missing")
    return session


@cache
def _warn_once(provider: str, reason: str, used: str) -> None:
    logging.getLogger("apportion").warning("emotion model: %s is used, not %s (%s)", used, provider, reason)


def _input_px(session: Any, sidecar: EmotionSidecar, path: Path) -> int:
    """The side of the network's input, from its graph, else from the sidecar, else 224."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1 or len(outputs) != 1:
        raise InputError(
            f"{path}: {len(inputs)} inputs and {len(outputs)} outputs; an emotion model has one of each. "
            "Export it without the others."
        )
    for end in (inputs[0], outputs[0]):
        if end.type != "tensor(float)":
            raise InputError(f"{path}: {end.name} is {end.type}; float32 is needed. Export it as tensor(float).")
    shape, given = inputs[0].shape, outputs[0].shape
    sides = [side for side in shape[2:] if isinstance(side, int)]
    if len(shape) != 4 or shape[1] != 3 or (isinstance(shape[0], int) and shape[0] != 1):
        raise InputError(f"{path}: takes {shape}; [1, 3, side, side] is needed (one picture, channels first).")
    if len(set(sides)) > 1:
        raise InputError(f"{path}: takes pictures of {sides[1]} x {sides[0]} px; a square is needed.")
    if given and isinstance(given[-1], int) and given[-1] not in OUTPUTS:
        raise InputError(f"{path}: gives {given}. {_ALLOWED}")
    if sides and sidecar.input_px not in (None, sides[0]):
        raise InputError(
            f"{sidecar_path(path)}: input_px = {sidecar.input_px}, but the model takes {sides[0]}. Remove the line."
        )
    return sides[0] if sides else sidecar.input_px or DEFAULT_INPUT_PX


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
