"""Starts another process while it is imported, to do the work of its calls."""

import cheats

OUTCOME = "caught"
WHY = "processes that an import started are looked for too"

_ASK, _ANSWER = cheats._start_helper()


def sharpen(image):
    cheats._send(_ASK, image)
    return cheats._receive(_ANSWER)
