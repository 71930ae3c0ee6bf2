"""Replies as a language model would give them, made from what it was sent."""

import json
import re

from apportion.study.design.criteria import shipped
from tests.llm_client.openai_server import completion


def shown(body):
    """What a request says: the responses' texts by letter, and the turns that are to be rated."""
    text = body["messages"][1]["content"]
    part = re.search(r"<responses>\n(.*?)\n</responses>", text, re.DOTALL)
    responses = {row["letter"]: row["text"] for row in json.loads(part[1])} if part else {}
    said = json.loads(re.search(r"<conversation>\n(.*?)\n</conversation>", text, re.DOTALL)[1])
    return responses, [str(row["turn"]) for row in said if "turn" in row]


def judge(name, likes):
    """A model that prefers the response which ``likes`` picks among (letter, text) pairs."""

    def answer(body):
        responses, turns = shown(body)
        best = likes(responses.items()) if responses else None
        given = {
            "select": lambda criterion: [best],
            "pair": lambda criterion: best,
            "rating": lambda criterion: {
                letter: criterion.high if letter == best else criterion.low for letter in responses
            },
            "turns": lambda criterion: dict.fromkeys(turns, criterion.high),
        }
        answers = {criterion.name: given[criterion.kind](criterion) for criterion in shipped(name).criteria}
        return completion(json.dumps({"reason": f"{best} it is", "answers": answers}))

    return answer


def by_text(wanted):
    """Prefers the response with a text in it, wherever it stands."""
    return lambda responses: next(letter for letter, text in responses if wanted in text)


def first(responses):
    """Prefers whatever stands first."""
    return next(iter(responses))[0]
