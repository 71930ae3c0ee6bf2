"""What anybody needs who asks a model: `data` (what people said, as data), `strict_json` (a reply as it stands),
`prompt_file` (a prompt's text file, found and checked).
"""
