"""Replaces the worker's own answer to a call: it does nothing any more."""

import gc

import honest

OUTCOME = "caught"
WHY = "the worker's word does not count, and the old bytes are wrong outputs"
_last = []


def _patch(kind):
    call = kind._call

    def answer(self, command):
        if not _last:
            _last.append(call(self, command)["output"])
        return {"nonce": command["nonce"], "output": _last[0]}

    kind._call = answer


def sharpen(image):
    for one in gc.get_objects():
        if type(one).__name__ == "Child" and hasattr(one, "_call"):
            _patch(type(one))
    return honest.sharpen(image)
