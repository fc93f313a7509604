"""Transform sets of configs/transforms, written out in full.

As lib/catalogue/inherit_transforms.h does it, for files without mistakes.
"""

from testing.textproto import all_of, one_of, parse

FILES = {
    "image-rgb": "rgb.textproto",
    "image-9ch": "9ch.textproto",
    "video-16f": "video.textproto",
}
# Fields of an entry that are only for the reader.
_NOTES = ("library_defaults", "effective", "same_work_note")


def transforms_of(configs, scenario):
    """The transforms of a scenario, with what they take from the base."""
    file = parse((configs / "transforms" / FILES[scenario]).read_text())
    transforms = [_expand(t) for t in all_of(file, "transforms")]
    base = one_of(file, "base", None)
    if base is None:
        return transforms
    inherited = {
        one_of(t, "name"): t
        for t in transforms_of(configs, one_of(base, "scenario"))
    }
    return [_inherit(base, inherited, t) for t in transforms]


def key(entry):
    """Library and profile."""
    return one_of(entry, "library"), one_of(entry, "params_profile", "paper")


def _expand(transform):
    """With the entries that `also_matched` and `matched` stand for."""
    entries = []
    for name, value in transform:
        if name != "implementations":
            continue
        own = one_of(value, "matched", None)
        if own is None and not one_of(value, "also_matched"):
            continue
        left = {*_NOTES, "also_matched", "matched"}
        if own is not None:
            left |= {field for field, _ in own} | {"unchecked"}
        entry = [f for f in value if f[0] not in left] + (own or [])
        entry.append(("params_profile", "matched"))
        entries.append(("implementations", entry))
    return transform + entries


def _inherit(base, inherited, transform):
    source = inherited.get(one_of(transform, "name"))
    if source is None or one_of(transform, "own"):
        return transform
    stated = {key(e) for e in all_of(transform, "implementations")}
    without = [
        (one_of(w, "library"), one_of(w, "params_profile"))
        for w in all_of(transform, "without")
    ]
    profiles = all_of(base, "params_profiles")
    taken = []
    for entry in all_of(source, "implementations"):
        library, profile = key(entry)
        if (
            library in all_of(base, "libraries")
            and (not profiles or profile in profiles)
            and (library, profile) not in stated
            and (library, "") not in without
            and (library, profile) not in without
        ):
            if not one_of(base, "references"):
                entry = [f for f in entry if f[0] != "unchecked"]
            entry = entry + [
                ("params", one_of(added, "param"))
                for added in all_of(base, "added_params")
                if one_of(added, "library") == library
            ]
            taken.append(("implementations", entry))
    if one_of(base, "references") and not all_of(transform, "reference"):
        taken += [f for f in source if f[0] == "reference"]
    return transform + taken
