"""What everybody needs and nobody owns; knows nothing of the rest.

From the ground up: `errors` (what a person sees), `truncate` (the first few, and how many more), `safe_text` (text that
any file can hold, without a tokenizer's control words), `tables` (figures that a person reads), `svg` (small drawings),
`html` (pages without scripts), `did_you_mean` (did you mean), `registry` (what is chosen by name, ours and packages'),
`arrays` and `progress` (types that signatures name), `intervals` (how sure a figure is), `lazy` (names imported on
first use), `optional_packages` (packages that are optional), `settings` (the base of all settings, and what is wrong
with refused ones), `presets` (published settings by name), `toml_text` (values as TOML writes them), `files` (written
whole or not at all), `cache_dir` (the folder for what can be had again), `model_hub` (published models, brought there
and called by name), `distributed` (those that share one piece of work).
"""
