"""People who answer what a learner asks: what to do in somebody's seat of a game that has gone so far.

From the ground up: `question` (a place in a game, as one seat knows it), `queue` (a folder of questions and answers, on
the disk before they are used), `asking` (the questions, one after the other, in a terminal).
"""

from apportion.environments.negotiation.expert_queries.question import Question
from apportion.environments.negotiation.expert_queries.queue import Queue, UnansweredError

__all__ = ["Question", "Queue", "UnansweredError"]
