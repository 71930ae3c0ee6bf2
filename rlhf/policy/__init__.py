"""What a policy is: a causal language model that answers in a dialogue.

From the ground up:

- `contexts`: what the policy reads before it speaks in the target's place
- `prompts`: what is answered that is no turn of a corpus
- `dialogue_chunks`: the corpus' own dialogues as token ids
- `context_config`: what a policy was trained to read, beside it
- `oom_errors`: running out of memory, told with what to lower
- `dropout`: the policy's own, off
- `loading`: any model by name or folder, with its tokenizer and chat template
- `opening`: a policy to speak with, adapters or whole
- `merging`: adapters put into their base for good
- `writing`: the folder of an aligned policy
- `card`: its README
- `lora`: adapters
- `zero`, `sharding`: frozen weights sharded over several processes
"""
