"""Makes the comments of a public header ready for Doxygen; argument: the header.

A comment is text for people. The filter escapes characters that Doxygen takes for markup. A label
at the start of a line (`Shape:`) becomes a paragraph, and indented lines become code.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"^(\s*)///(?!<) ?(.*)$")
TRAILING = re.compile(r"^(.*?)///< ?(.*)$")
LABEL = re.compile(r"(Shape|Units|Order|Owns|Blocks|Thread|Errors|Source|Use):\s*(.*)")


def escaped(text):
    text = re.sub(r"([\\@&$#<>%\"])", r"\\\1", text)
    return re.sub(r"`([^`]*)`", r"<tt>\1</tt>", text)


def filtered(lines):
    in_label = in_code = False
    for line in lines:
        comment = COMMENT.match(line)
        indent, text = comment.groups() if comment else ("", "")
        code = bool(comment) and text.startswith("    ") and not in_label
        if code != in_code:
            yield f"{indent}/// {'@code' if code else '@endcode'}"
            in_code = code
        if not comment:
            in_label = False
            trailing = TRAILING.match(line)
            yield f"{trailing[1]}///< {escaped(trailing[2])}" if trailing else line
        elif code:
            yield f"{indent}/// {text[4:]}"
        elif label := LABEL.match(text):
            in_label = True
            yield f"{indent}/// @par {label[1]}"
            yield f"{indent}/// {escaped(label[2])}"
        else:
            in_label = in_label and text.startswith(" ")
            yield f"{indent}/// {escaped(text)}"


if __name__ == "__main__":
    print("\n".join(filtered(pathlib.Path(sys.argv[1]).read_text().splitlines())))
