#!/usr/bin/env python3
"""Checks the layers: which part of the project may depend on which.

    check_layers.py                 asks `bazel query`
    check_layers.py RECORDED.xml    reads a recorded `bazel query --output=xml`
    check_layers.py --write         writes the table of docs/design.md

The allowed uses are in dev/layers.toml, which that table shows. Every
dependency counts, including those of tests and those inside a select. For the
libraries that a program links, only what reaches its binary counts. Exits 1
with one line per forbidden use.
"""

import pathlib
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Attributes through which code reaches a binary; `data` and genrule's `tools`
# name files that are used beside it.
LINKED = ("deps", "implementation_deps", "srcs", "hdrs", "textual_hdrs")


class Target:
    """One rule of the query: what it uses, and which of these it links."""

    def __init__(self, rule):
        self.label = rule.get("name")
        self.is_test = rule.get("class", "").endswith("_test") or any(
            b.get("name") == "testonly" and b.get("value") == "true"
            for b in rule.findall("boolean")
        )
        self.uses = {i.get("name") for i in rule.findall("rule-input")}
        self.links = {
            label.get("value")
            for attribute in rule.findall("list")
            if attribute.get("name") in LINKED
            for label in attribute.findall("label")
        }


def read_targets(xml_text):
    """Returns {label: Target}. Outputs of a rule stand for the rule."""
    targets = {}
    for rule in xml.etree.ElementTree.fromstring(xml_text).findall("rule"):
        target = Target(rule)
        targets[target.label] = target
        for output in rule.findall("rule-output"):
            targets[output.get("name")] = target
    return targets


def place(label):
    """("lib", area), ("tools", name), ("@", repository) or (folder, "")."""
    external = re.match(r"@+([^/]*)//", label)
    if external and external.group(1):
        # Bazel 7 and later put the module and the extension before the name.
        return "@", re.split(r"[+~]", external.group(1))[-1]
    parts = label.split("//", 1)[1].split(":")[0].split("/")
    if parts[0] in ("lib", "tools"):
        return parts[0], parts[1] if len(parts) > 1 else ""
    return parts[0], ""


def allowed_areas(areas):
    """The closure of the table: {area: everything it may use}."""

    def closure(area, path):
        if area in path:
            raise SystemExit(f"dev/layers.toml: {area} uses itself: {path}")
        if area not in areas:
            raise SystemExit(f"dev/layers.toml: no line for {area}: {path}")
        result = {area}
        for used in areas[area]:
            result |= closure(used, path + [area])
        return result

    return {area: closure(area, []) for area in areas}


def is_heavy(label, heavy):
    kind, name = place(label)
    if kind != "@":
        return False
    if name == "system":
        library = label.split(":")[-1]
        return any(library.startswith(prefix) for prefix in heavy["system"])
    return name in heavy["repositories"]


def edge_error(target, used, layers, allowed):
    """Why `target` may not use `used`, or None."""
    kind, name = place(target.label)
    used_kind, used_name = place(used)
    if kind == "lib":
        if used_kind == "tools":
            return "lib/ never uses tools/"
        if used_kind == "lib" and used_name not in allowed[name]:
            return (
                f"lib/{name} may use only "
                f"{', '.join(sorted(allowed[name] - {name})) or 'nothing'}"
            )
        if is_heavy(used, layers["heavy"]):
            areas = layers["heavy"]["areas"]
            if name not in areas:
                return f"only {', '.join(areas)} may use this library"
    if kind == "examples" and used_kind == "lib" and not target.is_test:
        if used_name != "loader":
            return "a program of others comes in by lib/loader"
    if kind == "tools" and used_kind == "tools":
        # What has many programs in one executable may.
        if used_name != name and not target.is_test and name != "programs":
            return "a program uses libraries, not another program"
    return None


def linked(targets, label):
    """Every label that reaches the binary `label`, with the way to it."""
    ways = {label: [label]}
    queue = [label]
    while queue:
        current = queue.pop()
        target = targets.get(current)
        for used in sorted(target.links) if target else ():
            if used not in ways:
                ways[used] = ways[current] + [used]
                queue.append(used)
    return ways


def link_error(name, used, layers):
    """Why the program `name` may not link `used`, or None."""
    kind, area = place(used)
    heavy = layers["heavy"]
    if name in heavy["never_in_tools"] and is_heavy(used, heavy):
        return f"{name} must start fast without it"
    only = layers["only"].get(name)
    if only is not None:
        if kind == "lib" and area not in only:
            return f"{name} links nothing but {', '.join(only)} of lib/"
        if kind == "@" and used not in only:
            return f"{name} links no library of the distribution"
    return None


def link_errors(targets, layers):
    """Yields (way to a library, why the program may not link it)."""
    for target in set(targets.values()):
        kind, name = place(target.label)
        if kind != "tools" or target.is_test:
            continue
        blamed = set()
        for used, way in linked(targets, target.label).items():
            reason = link_error(name, used, layers)
            if reason:
                blamed.add(used)
                # What a forbidden library drags in is no news.
                if way[-2] not in blamed:
                    yield way, reason


def check(xml_text, layers):
    """Returns the complaints, one line each, sorted."""
    targets = read_targets(xml_text)
    allowed = allowed_areas(layers["areas"])
    complaints = set()
    for target in targets.values():
        kind, name = place(target.label)
        if kind == "lib" and name not in allowed:
            complaints.add(
                f"lib/{name} is not in dev/layers.toml: add a line "
                f'`{name} = ["what", "it", "uses"]`, and one to [holds]'
            )
            continue
        for used in target.uses:
            reason = edge_error(target, used, layers, allowed)
            if reason:
                complaints.add(f"{target.label} uses {used}: {reason}")
    for way, reason in link_errors(targets, layers):
        complaints.add(f"{' -> '.join(way)}: {reason}")
    return sorted(complaints)


def design_page(page, layers):
    """The text of docs/design.md with the table of dev/layers.toml."""
    if layers["areas"].keys() != layers["holds"].keys():
        different = layers["areas"].keys() ^ layers["holds"].keys()
        raise SystemExit(
            f"dev/layers.toml: [areas] and [holds] differ: {different}"
        )
    rows = ["| area | holds | uses |", "|---|---|---|"]
    for area, uses in layers["areas"].items():
        cells = (area, layers["holds"][area], ", ".join(uses))
        rows.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    start = page.index(rows[0])
    end = page.index("\n\n", start)
    return page[:start] + "\n".join(rows) + page[end:]


def query():
    present = [d for d in ("lib", "tools", "examples") if (ROOT / d).is_dir()]
    return subprocess.run(
        ["bazel", "query", "--noshow_progress", "--output=xml"]
        + ["--noimplicit_deps", " + ".join(f"//{d}/..." for d in present)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


def main(argv):
    if len(argv) > 2:
        sys.exit("usage: check_layers.py [RECORDED.xml | --write]")
    layers = tomllib.loads((ROOT / "dev/layers.toml").read_text())
    design = ROOT / "docs/design.md"
    page = design_page(design.read_text(), layers)
    if argv[1:] == ["--write"]:
        design.write_text(page)
        return
    text = pathlib.Path(argv[1]).read_bytes() if len(argv) == 2 else query()
    complaints = check(text, layers)
    if page != design.read_text():
        complaints.append(
            "docs/design.md: its table of areas is not that of "
            "dev/layers.toml; run dev/check_layers.py --write"
        )
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main(sys.argv)
