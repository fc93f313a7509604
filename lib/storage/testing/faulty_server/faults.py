"""Decides which requests fail, and how."""

import collections
import random

# Each kind of fault, and what it applies to: any response, responses with a
# range of an object, or only those whose checksum the client can verify.
KINDS = {
    "drop": "any",  # The connection ends without an answer.
    "garbage": "any",  # An answer that is no HTTP.
    "truncate": "any",  # The body breaks off.
    "stall": "any",  # Silence before the head.
    "stall_body": "any",  # Silence in the middle of the body.
    "status_500": "any",
    "status_503": "any",
    "status_429": "any",
    "slow_start": "any",  # Late, and right.
    "short_length": "any",  # A shorter body whose length is said truly.
    "wrong_range": "range",  # Other bytes, honestly labeled.
    "too_long": "range",  # More bytes than asked for.
    "wrong_bytes": "whole",  # A bit flipped.
    "wrong_checksum": "whole",  # Right bytes, wrong checksum header.
}


class Faults:
    """Draws faults from a seeded generator, and counts them."""

    def __init__(self, rate, kinds, seed, corrupt_parts):
        self.rate = rate
        self.kinds = kinds or list(KINDS)
        self.random = random.Random(seed)
        # Whether parts of an object may be damaged too, which a client can only
        # detect when it assembles the whole object.
        self.corrupt_parts = corrupt_parts
        self.counts = collections.Counter()

    def draw(self, is_range, is_whole):
        """A kind, or None."""
        if self.random.random() >= self.rate:
            return None
        kind = self.random.choice(self.kinds)
        needs = KINDS[kind]
        if needs == "range" and not is_range:
            return None
        if needs == "whole" and not is_whole:
            if not (self.corrupt_parts and is_range):
                return None
        self.counts[kind] += 1
        return kind
