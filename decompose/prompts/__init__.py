"""The prompts that come with this package, a text file each; docs/guides/language-model.md says what a file holds.

`shared/`: what several of them put in; `paraphrase/`: the same in other words, for the audit; `rubric/`: what
writes signals and finds them.
"""
