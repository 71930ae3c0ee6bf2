"""How large the pictures of a film may be: a file of a megabyte can promise one that no memory holds."""

from __future__ import annotations

from typing import Any

from apportion.foundation.errors import UnitError

MOST_PIXELS = 1 << 26
"""Of one picture: twice those of 8K."""
DECODER_OPTIONS = {"max_pixels": str(MOST_PIXELS)}
"""For ``av.open``: its look into the first pictures of a file obeys them too."""
ATTACHED = 0x400
"""FFmpeg's mark of a cover picture, which nobody measures."""


def check_pictures(container: Any, name: str) -> None:
    """Refuse a container that PyAV has opened for its pictures' size, and tell its decoders to refuse any that grow.

    Raises ``UnitError``: pictures of more than ``MOST_PIXELS``, or of none that could be found within them.
    """
    for stream in container.streams.video:
        context = stream.codec_context
        if context is None or stream.disposition & ATTACHED:
            continue
        if not 0 < context.width * context.height <= MOST_PIXELS:
            size = f"of {context.width} x {context.height} pixels" if context.width else "of a size that cannot be read"
            raise UnitError(f"{name}: pictures {size}; at most {MOST_PIXELS:,} pixels are read. Make the film smaller.")
        context.options = dict(DECODER_OPTIONS)
