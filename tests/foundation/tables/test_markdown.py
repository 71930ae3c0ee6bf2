"""Tables in Markdown."""

from apportion.foundation.tables.markdown import escaped, markdown_table


def test_no_cell_can_leave_its_place() -> None:
    assert escaped("a|b\n# c") == "a\\|b # c" and escaped("<img>`x`*_") == "\\<img\\>\\`x\\`\\*\\_"
    assert escaped("![x](http://e/p.png)") == "![x]\\(http://e/p.png)", "no picture is loaded"
    assert escaped("# head") == "\\# head" and escaped("0.5 [0.4, 0.6]") == "0.5 [0.4, 0.6]"
    lines = markdown_table(("who | what", "score"), [("ann\n| bob", "1")]).splitlines()
    assert len(lines) == 3 and lines[1] == "| :--- | ---: |"
    assert lines[2] == "| ann \\| bob | 1 |"
