"""Small real recordings, made on the spot."""

import wave
from pathlib import Path

import av
import numpy as np


def wav(path: Path, channels: int = 1, seconds: float = 2.0) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.zeros(int(8000 * seconds) * channels, np.int16).tobytes())
    return path


def mp4(path: Path, channels: int = 0, seconds: float = 2.0) -> Path:
    """A grey picture at 10 frames a second, with silent sound of ``channels`` channels (0: none)."""
    with av.open(str(path), "w", format="mp4") as container:
        video = container.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 32, "yuv420p"
        sound = (
            container.add_stream("aac", rate=8000, layout="mono" if channels == 1 else "stereo") if channels else None
        )
        for _ in range(int(10 * seconds)):
            frame = av.VideoFrame.from_ndarray(np.full((32, 64, 3), 128, np.uint8), format="rgb24")
            container.mux(video.encode(frame))
        container.mux(video.encode())
        if sound is not None:
            frame = av.AudioFrame.from_ndarray(
                np.zeros((1, int(8000 * seconds) * channels), np.int16),
                format="s16",
                layout="mono" if channels == 1 else "stereo",
            )
            frame.sample_rate = 8000
            container.mux(sound.encode(frame))
            container.mux(sound.encode())
    return path
