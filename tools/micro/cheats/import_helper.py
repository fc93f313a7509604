"""Starts another process while it is imported, before any call, to do the work."""

import cheats

OUTCOME = "caught"
WHY = "processes that an import started are looked for too"

_ASK, _ANSWER = cheats._start_helper()


def sharpen(image):
    cheats._send(_ASK, image)
    return cheats._receive(_ANSWER)
