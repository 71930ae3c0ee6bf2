"""OpenRLHF's own client, run by the Python of an environment that has it: asks a server and prints what it made of it.

`python openrlhf_client.py ADDRESS` reads conversations (JSON, lists of messages) from stdin. The engine stands for
vLLM: it "generates" the last message. The executor, its tokens and its HTTP are OpenRLHF's.
"""

import asyncio
import json
import sys
from types import SimpleNamespace

from openrlhf.utils.agent import SingleTurnAgentExecutor


class Tokenizer:
    """A character a token, special tokens among them: what is decoded is what was written."""

    def __call__(self, text, **given):
        return {"input_ids": [Row(map(ord, text))]}

    def decode(self, ids, skip_special_tokens):
        assert not skip_special_tokens
        return "".join(map(chr, ids))


class Row(list):
    def tolist(self):
        return list(self)


async def paid(executor, messages):
    *asked, reply = [f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in messages]
    begin = "<|im_start|>assistant\n"

    class Engine:
        async def generate(self, ids, params, **given):
            said = [ord(letter) for letter in reply.removeprefix(begin)]
            return SimpleNamespace(outputs=[SimpleNamespace(token_ids=said, finish_reason="stop", logprobs=None)])

    sampling = SimpleNamespace(max_tokens=64, logprobs=None)
    found = await executor.execute("".join(asked) + begin, "label", sampling, 4096, Tokenizer(), Engine())
    return {name: found[name] for name in ("reward", "scores", "extra_logs")}


async def main():
    executor = SingleTurnAgentExecutor([sys.argv[1]])
    print(json.dumps(await asyncio.gather(*(paid(executor, messages) for messages in json.load(sys.stdin)))))


asyncio.run(main())
