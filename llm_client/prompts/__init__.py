"""What anybody needs who asks a model: `data` (what people said, as data), `strict_json` (an
answer as it stands, and what stands before it), `prompt_file` (a prompt's text file, found and checked).
"""
