"""Closed eyes for the drawn faces."""

from __future__ import annotations

import numpy as np

REACH = 7.0
"""How far above the eye the skin is drawn down, drawn pixels."""


def with_lids(square: np.ndarray, share: float, mirrored: bool) -> np.ndarray:
    """A drawn face [SIZE, SIZE, 3] uint8 whose upper lids have gone down ``share`` (0 to 1) of the opening."""
    import cv2

    from apportion.demo.builders.faces import EYE_OPENING, EYES, SCALE, SIZE

    image = (cv2.flip(square, 1) if mirrored else square).astype(np.float32)
    rows, columns = np.indices((SIZE, SIZE), dtype=np.float32)
    source, lashes = rows.copy(), np.zeros((SIZE, SIZE), np.float32)
    half_width, half_height = 1.08 * SCALE * EYE_OPENING[0], 1.12 * SCALE * EYE_OPENING[1]
    for middle_x, middle_y in EYES:
        along = (columns - SCALE * middle_x) / half_width
        bow = half_height * np.sqrt(np.clip(1 - along**2, 0, 1))
        top, edge = SCALE * middle_y - bow, SCALE * middle_y - bow + share * 1.9 * bow
        start = top - REACH
        drawn = start + (rows - start) / np.maximum(edge - start, 1e-3) * (top - start - 1.2)
        lid = (np.abs(along) < 1) & (rows >= start) & (rows <= edge)
        source[lid] = drawn[lid]
        lashes = np.maximum(lashes, 0.75 * (share > 0) * np.exp(-(((rows - edge) / 1.1) ** 2)) * bow / half_height)
    shut = cv2.remap(image, columns, source, cv2.INTER_LINEAR)
    shut = shut * (1 - lashes[..., None]) + np.array((40, 45, 60), np.float32) * lashes[..., None]
    closed = np.clip(shut, 0, 255).astype(np.uint8)
    return cv2.flip(closed, 1) if mirrored else closed
