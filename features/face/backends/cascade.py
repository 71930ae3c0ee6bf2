"""The Haar cascades that come with OpenCV, one copy a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError


@cache
def cascade(name: str) -> Any:
    """``cv2.CascadeClassifier`` of the packaged file ``haarcascade_{name}.xml``, run on one thread.

    Raises ``InputError`` where OpenCV came without it, as version 5 does.
    """
    import cv2
    import cv2.data

    # OpenCV's own threads would take cores from the other workers, and order its hits by thread.
    cv2.setNumThreads(1)
    path = Path(cv2.data.haarcascades) / f"haarcascade_{name}.xml"
    classifier = cv2.CascadeClassifier(str(path)) if path.is_file() else None
    if classifier is None or classifier.empty():
        raise InputError(
            f"{path}: OpenCV {cv2.__version__} brought no such cascade. Another OpenCV lies over ours: see "
            "docs/guides/install.md, or run pip install --force-reinstall 'opencv-python-headless<5'."
        )
    return classifier
