"""A training without torch for audit_test.py: notes its items by numbers.

    training.py FOLDER [name=value...]

Continues from the checkpoint in FOLDER. `fault` names what it does wrong.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time

import feedrate.audit

ITEMS = 197
BATCH = 16


class Training:
    def __init__(self, folder, fault="", epochs="2", every="5", fail=""):
        self.checkpoint = pathlib.Path(folder, "checkpoint.json")
        self.fault = fault
        self.epochs = int(epochs)
        self.every = int(every)
        self.fail = fail
        self.rank = int(os.environ.get("RANK", "0"))
        self.ranks = int(os.environ.get("WORLD_SIZE", "1"))
        self.step = self.epoch = self.position = 0
        if self.checkpoint.exists() and fault != "scratch":
            state = json.loads(self.checkpoint.read_text())
            self.step, self.epoch, self.position = state

    def wait_for_ranks(self):
        """As a step of gradients does."""
        if self.ranks == 1:
            return
        start = os.environ["MASTER_PORT"]
        folder = self.checkpoint.parent
        (folder / f"at.{start}.{self.rank}.{self.step}").touch()
        for rank in range(self.ranks):
            other = folder / f"at.{start}.{rank}.{self.step}"
            while not other.exists():
                time.sleep(0.001)

    def save(self, epoch, position):
        if self.rank == 0:
            state = json.dumps([self.step, epoch, position])
            new = self.checkpoint.with_suffix(".new")
            new.write_text(state)
            new.rename(self.checkpoint)

    def order(self, epoch):
        """The batches of this rank."""
        items = list(range(ITEMS))
        if self.fault != "sorted":
            random.Random(0 if self.fault == "order" else epoch).shuffle(items)
        if self.fault == "loses":
            del items[5]
        if self.fault == "repeats":
            items.append(items[3])
        if self.fault != "same_ranks":
            items = items[self.rank :: self.ranks]
        if self.fault == "unequal" and self.rank == 1:
            items = items[: len(items) - BATCH]
        return [items[i : i + BATCH] for i in range(0, len(items), BATCH)]

    def run(self):
        resumed = self.position
        if resumed and self.fault == "skips_less":
            resumed -= 2
        if resumed and self.fault == "skips_more":
            resumed += 2
        if resumed and self.fault == "first_epoch_again":
            self.order, order = (lambda epoch: order(0)), self.order
        if resumed and self.fault == "begins_again":
            resumed = 0
        self.wait_for_ranks()
        for epoch in range(self.epoch, self.epochs):
            feedrate.audit.begin_epoch()
            batches = self.order(epoch)
            for position in range(resumed, len(batches)):
                self.train(epoch, position, batches[position])
            resumed = 0
            self.validate()
            self.save(epoch + 1, 0)

    def train(self, epoch, position, ids):
        if self.fail and self.step == int(self.fail):
            sys.exit(7)
        labels = [i % 10 for i in ids]
        if self.fault == "labels" and position == 3:
            labels.reverse()
        seen = list(ids)
        if self.fault == "leak" and position == 2:
            seen[0] = ITEMS + 1
        if self.fault == "unreadable":
            seen = [-1] * len(ids)
        feedrate.audit.saw_ids(seen, labels, step=self.step)
        self.step += 1
        if self.fault != "unequal":
            self.wait_for_ranks()
        if self.step % self.every == 0:
            self.save(epoch, position + 1)

    def validate(self):
        items = range(ITEMS, ITEMS + 20)[self.rank :: self.ranks]
        if self.fault == "validation":
            items = items[1:]
        feedrate.audit.saw_ids(items, training=False)


def main(arguments):
    settings = dict(word.split("=", 1) for word in arguments[1:])
    training = Training(arguments[0], **settings)
    if settings.get("fault") == "term":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    training.run()


if __name__ == "__main__":
    main(sys.argv[1:])
