"""What a policy is: a causal language model that answers in a dialogue.

From the ground up:

- `contexts`: what the policy reads before it speaks in the target's place
- `prompts`: what is answered that is no turn of a corpus
- `loading`: any model by name or folder, with its tokenizer and chat template, without dropout; out-of-memory errors
- `supervised_tokens`: what people said, as the tokens that a policy learns
- `folder`: a policy's folder, written and opened; `card`: its README
- `merging`: adapters put into their base for good
- `lora`: adapters; `sharding`: frozen weights sharded over several processes
"""
