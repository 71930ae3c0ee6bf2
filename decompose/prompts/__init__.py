"""The prompts that come with this package, a text file each; docs/decompose.md says what a file holds."""
