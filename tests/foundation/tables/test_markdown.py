"""Tables in Markdown."""

from foundation.tables.markdown import escaped, markdown_table


def test_no_cell_can_leave_its_place() -> None:
    assert escaped("a|b\n# c") == "a\\|b \\# c" and escaped("<img>`x`*_") == "\\<img\\>\\`x\\`\\*\\_"
    assert escaped("![x](http://e/p.png) &lt;") == "\\!\\[x\\](http://e/p.png) \\&lt;", "no picture is loaded"
    lines = markdown_table(("who | what", "score"), [("ann\n| bob", "1")]).splitlines()
    assert len(lines) == 3 and lines[1] == "| :--- | ---: |"
    assert lines[2] == "| ann \\| bob | 1 |"
