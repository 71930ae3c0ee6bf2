"""What `rlhf.launch.worker` does, but for a mishap; started by test_trainer_processes.py as MISHAP STEP FOLDER."""

import math
import os
import signal
import sys
from pathlib import Path

from apportion.rlhf.launch import worker as launched
from apportion.rlhf.training import reward
from apportion.rlhf.training.reward import ModelReward


class Failing(ModelReward):
    """In the second process the reward of one step is no number."""

    calls = 0

    def __call__(self, contexts, histories, replies):
        self.calls += 1
        scores = super().__call__(contexts, histories, replies)
        return [math.nan] * len(scores) if self.calls == STEP and os.environ["RANK"] == "1" else scores


def hold(done: int, total: int, text: str) -> None:
    """Tell, and never come back: what is killed then has not ended, however busy the machine."""
    TELL(done, total, text)
    if done == STEP:
        signal.pause()


if __name__ == "__main__":
    MISHAP, STEP, TELL = sys.argv[1], int(sys.argv[2]), launched._tell_progress
    if MISHAP == "hold":
        launched._tell_progress = hold
    if MISHAP == "nan":
        reward.ModelReward = Failing
    launched.main(Path(sys.argv[3]))
