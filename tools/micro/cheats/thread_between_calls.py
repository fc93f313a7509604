"""A thread goes on working between calls."""

import threading

import honest

OUTCOME = "caught"
WHY = "its processor time counts while nothing is asked of it"
_threads = []


def _work():
    while True:
        sum(range(1000))


def sharpen(image):
    if not _threads:
        _threads.append(threading.Thread(target=_work, daemon=True))
        _threads[0].start()
    return honest.sharpen(image)
