"""A training without torch for audit_test.py and trials.py.

    training.py FOLDER [name=value...]

Notes its items by numbers, or with images=1 by their images. Continues from the
checkpoint in FOLDER, also with another number of processes. `fault` names what
it does wrong.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time

import feedrate.audit

BUFFER = 24
SHARD = 12


class Training:
    def __init__(self, folder, settings):
        self.folder = pathlib.Path(folder)
        self.checkpoint = self.folder / "checkpoint.json"
        self.fault = settings.get("fault", "")
        self.loader = settings.get("loader", "map")
        self.fail = settings.get("fail", "")

        def number(name, default):
            return int(settings.get(name, default))

        self.items = number("items", 197)
        self.validation = number("validation", 20)
        self.classes = number("classes", 10)
        self.batch = number("batch", 16)
        self.epochs = number("epochs", 2)
        self.every = number("every", 5)
        self.seed = number("seed", 0)
        self.drop_last = number("drop_last", 0)
        self.images = number("images", 0)
        self.rank = int(os.environ.get("RANK", "0"))
        self.ranks = int(os.environ.get("WORLD_SIZE", "1"))
        self.step = self.epoch = self.resumes = 0
        # In the order of an epoch over all ranks.
        self.position = 0
        self.is_term = False
        if self.checkpoint.exists() and self.fault != "scratch":
            state = json.loads(self.checkpoint.read_text())
            self.step, self.epoch, self.position, self.resumes = state
            self.resumes += 1

    def chance(self, *words):
        return random.Random(f"{self.seed} {words}")

    def wait_for_ranks(self):
        """As a step of gradients does."""
        if self.ranks == 1:
            return
        start = os.environ["MASTER_PORT"]
        (self.folder / f"at.{start}.{self.rank}.{self.step}").touch()
        for rank in range(self.ranks):
            other = self.folder / f"at.{start}.{rank}.{self.step}"
            while not other.exists():
                time.sleep(0.001)

    def save(self, epoch, position):
        if self.rank == 0:
            state = [self.step, epoch, position, self.resumes]
            new = self.checkpoint.with_suffix(".new")
            new.write_text(json.dumps(state))
            new.rename(self.checkpoint)

    def order(self, epoch):
        """The items of an epoch for all ranks."""
        if self.fault == "order":
            epoch = 0
        chance = self.chance("order", epoch)
        items = list(range(self.items))
        if self.fault == "sorted":
            return items
        if self.loader == "stream":
            items = self.stream(chance)
        elif self.loader == "mixture":
            items = self.mixture(chance)
        else:
            chance.shuffle(items)
        at = chance.randrange(len(items) // 2)
        if self.fault == "loses":
            del items[at]
        if self.fault == "repeats":
            items.insert(len(items) - 1 - at, items[at])
        return items

    def stream(self, chance):
        """Shards in any order, through a shuffle buffer."""
        shards = [
            list(range(i, min(i + SHARD, self.items)))
            for i in range(0, self.items, SHARD)
        ]
        chance.shuffle(shards)
        buffer, items = [], []
        for item in sum(shards, []):
            buffer.append(item)
            if len(buffer) > BUFFER:
                items.append(buffer.pop(chance.randrange(len(buffer))))
        chance.shuffle(buffer)
        return items + buffer

    def mixture(self, chance):
        """Draws of two sources: the first third of the items, with a weight of
        0.6, and the rest."""
        first = self.items // 3
        weight = 0.5 if self.fault == "weights" else 0.6
        return [
            chance.randrange(first)
            if chance.random() < weight
            else chance.randrange(first, self.items)
            for _ in range(self.items)
        ]

    def resumed(self):
        """Where the epoch goes on, and its order from then on."""
        place, order = self.position, self.order(self.epoch)
        right = place, list(order)
        fault = self.fault if place else ""
        step = self.batch * self.ranks
        if fault == "second_resume" and self.resumes > 1:
            fault = "skips_more"
        if fault == "skips_less":
            place = max(0, place - 2 * step)
        if fault == "skips_more":
            place += 2 * step
        if fault == "begins_again":
            place = 0
        if fault == "first_epoch_again":
            order = self.order(0)
        if fault == "shuffles_anew":
            order = list(order)
            self.chance("anew", self.resumes).shuffle(order)
        if fault == "loses_buffer":
            lost = order[place : place + BUFFER]
            order = [*order[:place], *order[place + len(lost) :]]
        # For trials.py: whether a fault had anything to spoil.
        if self.rank == 0:
            least = step if self.drop_last else 1
            is_spoiled = (place, order) != right
            is_spoiled = is_spoiled and right[0] + least <= len(right[1])
            (self.folder / "spoiled").write_text(str(int(is_spoiled)))
        return place, order

    def run(self):
        place, order = self.resumed()
        self.wait_for_ranks()
        if self.loader == "endless":
            self.run_endlessly(place)
            return
        for epoch in range(self.epoch, self.epochs):
            feedrate.audit.begin_epoch()
            if epoch > self.epoch:
                place, order = 0, self.order(epoch)
            whole = self.batch * self.ranks
            while place < len(order) - (whole - 1 if self.drop_last else 0):
                group = order[place : place + whole]
                place += whole
                self.train(epoch, place, group)
            if self.fault == "unequal" and self.rank == 1:
                self.train(epoch, place, order[: self.ranks])
            self.validate(epoch)
            self.save(epoch + 1, 0)

    def run_endlessly(self, place):
        """Without a word where an epoch begins."""
        orders = [self.order(epoch) for epoch in range(self.epochs)]
        whole = self.batch * self.ranks
        if self.drop_last:
            orders = [o[: len(o) // whole * whole] for o in orders]
        order = sum(orders, [])
        while place + whole <= len(order):
            place += whole
            self.train(0, place, order[place - whole : place])

    def share(self, group):
        """What this rank gets of a group of samples."""
        if self.fault == "same_ranks":
            return group[:: self.ranks]
        own = group[self.rank :: self.ranks]
        if self.fault == "overlap" and self.rank == 1:
            own = [group[0], *own[1:]]
        # As DistributedSampler does.
        if len(group) % self.ranks > self.rank or not len(group) % self.ranks:
            return own
        return [*own, group[0]]

    def train(self, epoch, place, group):
        if self.fail and self.step == int(self.fail):
            sys.exit(7)
        ids = self.share(group)
        labels = [i % self.classes for i in ids]
        number = place // len(group)
        if self.fault == "labels" and number % 3 == 0:
            labels = labels[1:] + labels[:1]
        seen = list(ids)
        if self.fault == "leak" and number == 2:
            seen[0] = self.items + 1
        if self.fault == "unreadable":
            seen = [-1] * len(ids)
        if self.images:
            pictures = images_of(seen, self.draws(epoch, place, seen))
            feedrate.audit.saw(pictures, labels, step=self.step)
        else:
            feedrate.audit.saw_ids(seen, labels, step=self.step)
        self.step += 1
        if self.fault != "unequal":
            self.wait_for_ranks()
        if self.step % self.every == 0 or self.is_term:
            self.save(epoch, place)
        if self.is_term:
            sys.exit(0)

    def draws(self, epoch, place, ids):
        """How each image is augmented: by a generator per batch, as right
        loader workers have."""
        batch = place // (self.batch * self.ranks)
        if self.fault == "draws_of_items":
            return [self.chance("item", item) for item in ids]
        if self.fault == "draws_of_workers":
            batch //= 2
        if self.fault == "draws_of_epochs":
            epoch = 0
        chance = self.chance("draws", epoch, batch, self.rank)
        return [chance] * len(ids)

    def validate(self, epoch):
        ids = list(range(self.items, self.items + self.validation))
        if self.fault == "validation":
            ids = ids[self.ranks :]
        if self.fault == "validation_twice":
            ids += ids
        ids = ids[self.rank :: self.ranks]
        # More repetitions than fill the last batches of ranks.
        for at in range(0, len(ids), 4):
            feedrate.audit.saw_ids(ids[at : at + 4], training=False)


def images_of(ids, chances):
    """Crops of images that say which item they are, flipped at random."""
    import _feedrate_codes
    import numpy as np

    images = []
    for item, chance in zip(ids, chances, strict=True):
        if item < 0:
            images.append(np.full((96, 96, 3), 100, np.uint8))
            continue
        image = np.array(
            [
                np.frombuffer(r, np.uint8)
                for r in _feedrate_codes.rows_of(item, 128)
            ]
        ).reshape(128, 128, 3)
        size = chance.randrange(80, 128)
        y, x = (chance.randrange(129 - size) for _ in range(2))
        rows = np.arange(96) * size // 96
        image = image[y + rows][:, x + rows]
        if chance.random() < 0.5:
            image = image[:, ::-1]
        images.append(image)
    return np.stack(images)


def main(arguments):
    settings = dict(word.split("=", 1) for word in arguments[1:])
    training = Training(arguments[0], settings)

    def at_term(*_):
        training.is_term = True

    if settings.get("term"):
        signal.signal(signal.SIGTERM, at_term)
    training.run()


if __name__ == "__main__":
    main(sys.argv[1:])
