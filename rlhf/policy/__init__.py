"""What a policy is: a causal language model that answers in a dialogue.

From the ground up:

- `contexts`: what the policy reads before it speaks, and what people said as tokens
- `prompts`: what is answered that is no turn of a corpus
- `loading`: any model by name or folder, with its tokenizer and chat template, without dropout; out-of-memory errors
- `folder`: a policy's folder, written, opened and merged; `card`: its README
- `lora`: adapters; `sharding`: frozen weights sharded over several processes
"""
