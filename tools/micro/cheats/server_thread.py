"""Leaves a thread in the process that starts its own, to work beside it."""

import threading

import honest

OUTCOME = "caught"
WHY = "that process must rest when nothing is asked"


def _work():
    while True:
        sum(range(10000))


threading.Thread(target=_work, daemon=True).start()
sharpen = honest.sharpen
