"""Just enough of protobuf's text format to read configs/transforms in tests.

Messages become lists of (field, value); strings stay strings, all else is text.
"""

import re

_TOKEN = re.compile(
    r'\s*(?:#[^\n]*\s*)*("(?:[^"\\]|\\.)*"|[{}\[\],:;]|[^\s{}\[\],:;"#]+|$)'
)


def parse(text):
    tokens = [m.group(1) for m in _TOKEN.finditer(text) if m.group(1)]
    message, end = _message(tokens, 0)
    assert end == len(tokens), f"stopped at token {end}: {tokens[end]}"
    return message


def all_of(message, field):
    return [value for name, value in message if name == field]


def one_of(message, field, default=""):
    values = all_of(message, field)
    assert len(values) <= 1, f"{field} is there {len(values)} times"
    return values[0] if values else default


def _message(tokens, at):
    fields = []
    while at < len(tokens) and tokens[at] != "}":
        if tokens[at] in ",;":
            at += 1
            continue
        name, at = tokens[at], at + 1
        if tokens[at] == ":":
            at += 1
        if tokens[at] == "[":
            at += 1
            while tokens[at] != "]":
                value, at = _value(tokens, at)
                fields.append((name, value))
                if tokens[at] == ",":
                    at += 1
            at += 1
        else:
            value, at = _value(tokens, at)
            fields.append((name, value))
    return fields, at


def _value(tokens, at):
    if tokens[at] == "{":
        message, at = _message(tokens, at + 1)
        return message, at + 1
    if not tokens[at].startswith('"'):
        return tokens[at], at + 1
    text = ""
    while at < len(tokens) and tokens[at].startswith('"'):
        text += re.sub(r"\\(.)", r"\1", tokens[at][1:-1])
        at += 1
    return text, at
