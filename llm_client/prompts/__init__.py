"""What anybody needs who asks a model: `data` (what people said, as data), `reasoning` (what stands before an answer),
`strict_json` (an answer as it stands), `prompt_file` (a prompt's text file, found and checked).
"""
