"""Writes answers into the pipe before it has worked."""

import json
import os
import sys

import honest

OUTCOME = "caught"
WHY = "an answer repeats a random number of its command, and comes once"


def _pipe():
    frame = sys._getframe()
    while frame is not None:
        if "replies_fd" in frame.f_locals:
            return frame.f_locals["replies_fd"]
        frame = frame.f_back
    return None


def _command():
    frame = sys._getframe()
    while frame is not None:
        command = frame.f_locals.get("command")
        if isinstance(command, dict) and "nonce" in command:
            return command
        frame = frame.f_back
    return None


def sharpen(image):
    command = _command()
    if command is not None:
        output = {
            "offset": 0,
            "bytes": image.nbytes,
            "dtype": "uint8",
            "layout": "HWC",
            "shape": list(image.shape),
        }
        reply = {"nonce": command["nonce"], "output": output}
        os.write(_pipe(), json.dumps(reply).encode() + b"\n")
    return honest.sharpen(image)
