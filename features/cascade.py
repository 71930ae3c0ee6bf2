"""The Haar cascades that come with OpenCV, one copy a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def cascade(name: str) -> Any:
    """``cv2.CascadeClassifier`` of the packaged file ``haarcascade_{name}.xml``, run on one thread."""
    import cv2
    import cv2.data

    # OpenCV's own threads would take cores from the other workers, and order its hits by thread.
    cv2.setNumThreads(1)
    return cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / f"haarcascade_{name}.xml"))
