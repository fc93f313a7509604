"""Where a feedrate.Loader is: resuming, states, and several threads."""

import collections
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest
import warnings

import cases  # Puts feedrate on the path.
import feedrate
import numpy as np

EVERY = list(range(100))


class ResumeTest(cases.Case):
    def test_continues_at_the_next_sample(self):
        source = cases.noisy(50)
        first = self.loader(source, shuffle=True, flip=True)
        for _ in first:  # Epoch 0.
            pass
        wanted = [images.copy() for images, _ in first]
        for taken, workers in ((0, 1), (1, 4), (4, 0), (7, 2)):
            before = self.loader(source, shuffle=True, flip=True)
            before.set_epoch(1)
            for _ in itertools.islice(before, taken):
                pass
            state = json.loads(json.dumps(before.state_dict()))
            after = self.loader(
                source, shuffle=True, flip=True, workers=workers
            )
            after.load_state_dict(state)
            if taken < 7:
                self.assertEqual(after.epoch, 1)
                # An iterator that gave no batch is not an epoch, and a loop
                # over epochs that sets the number keeps the place.
                iter(after)
                after.set_epoch(1)
                iter(after)
                rest = [images.copy() for images, _ in after]
                for one, other in zip(rest, wanted[taken:], strict=True):
                    np.testing.assert_array_equal(one, other)
            self.assertEqual(after.epoch, 2)

    def test_another_number_of_ranks_takes_over(self):
        source = self.array()
        for old, new, size in ((2, 3, 8), (3, 1, 5), (1, 4, 8), (4, 2, 3)):
            found, states = [], []
            for rank in range(old):
                loader = self.loader(
                    source, shuffle=True, rank=rank, world_size=old
                )
                for images, _ in itertools.islice(loader, 2):
                    found += cases.ids(images)
                states.append(loader.state_dict())
            self.assertEqual(states, states[:1] * old)
            for rank in range(new):
                loader = self.loader(
                    source,
                    shuffle=True,
                    rank=rank,
                    world_size=new,
                    batch_size=size,
                )
                loader.load_state_dict(states[0])
                found += self.numbers(loader)
            self.assertEqual(sorted(found), EVERY, (old, new))

    def test_nothing_is_lost_or_repeated_when_it_is_killed(self):
        """The sample audit of a run that kill -9 ends again and again."""
        source = self.folder / "source.npy"
        np.save(source, self.array())
        log, epochs, kills = self.folder / "log", 4, 0
        log.touch()
        command = [sys.executable, "-B", __file__, "train", source, log]
        for attempt in range(20):
            workers, batches = attempt % 4, 5 + attempt
            done = subprocess.run(
                [*command, str(workers), str(epochs), str(batches)]
            )
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, -signal.SIGKILL)
            kills += 1
        seen = collections.Counter()
        for line in log.read_text().splitlines():
            done = json.loads(line)
            seen.update((done["epoch"], number) for number in done["ids"])
        wanted = {(e, n): 1 for e in range(epochs) for n in EVERY}
        self.assertEqual(seen, wanted)
        self.assertGreater(kills, 3)

    def test_a_state_of_other_data_is_refused(self):
        state = self.loader(self.array(), shuffle=True).state_dict()
        for other, word in (
            (self.loader(self.array(50), shuffle=True), "size"),
            (self.loader(self.array(), shuffle=True, seed=3), "seed"),
            (self.loader(self.array()), "shuffle"),
        ):
            with self.assertRaisesRegex(ValueError, f"{word}="):
                other.load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "version"):
            self.loader(self.array()).load_state_dict({"epoch": 3})


def train(source, log, workers, epochs, batches):
    """What the test above starts: writes a line per batch, with the state, and
    dies by kill -9 in the middle of a line after this many batches."""
    loader = feedrate.Loader(
        np.load(source),
        batch_size=8,
        crop=16,
        dtype="uint8",
        output="numpy",
        shuffle=True,
        workers=int(workers),
    )
    log = pathlib.Path(log)
    whole, _, torn = log.read_text().rpartition("\n")
    if torn:
        log.write_text(whole + "\n")
    if whole:
        loader.load_state_dict(json.loads(whole.splitlines()[-1])["state"])
    with log.open("a") as out:
        while loader.epoch < int(epochs):
            epoch = loader.epoch
            for images, _ in loader:
                numbers = [int(number) for number in cases.ids(images)]
                state = loader.state_dict()
                done = {"epoch": epoch, "ids": numbers, "state": state}
                line = json.dumps(done) + "\n"
                batches = int(batches) - 1
                out.write(line if batches > 0 else line[:20])
                out.flush()
                if batches == 0:
                    os.kill(os.getpid(), signal.SIGKILL)


class StateTest(cases.Case):
    def place(self, loader):
        state = loader.state_dict()
        return state["epoch"], state["position"]

    def test_an_error_does_not_end_the_epoch(self):
        for i in range(40):
            cases.write(self.folder / f"{i:02}.npy", cases.image(i))
        broken = self.folder / "20.npy"
        whole = broken.read_bytes()
        broken.write_bytes(b"no array")
        for workers in (0, 2):
            loader = self.loader(self.folder, on_error="fail", workers=workers)
            taken = []
            batches = iter(loader)
            with self.assertRaisesRegex(RuntimeError, r"20\.npy: "):
                for images, _ in batches:
                    taken += cases.ids(images)
            state = loader.state_dict()
            self.assertEqual(
                (state["epoch"], state["position"]), (0, len(taken))
            )
            # It has not ended either for who goes on.
            with self.assertRaisesRegex(RuntimeError, r"20\.npy: "):
                next(batches)
            self.assertEqual(loader.state_dict(), state)
            broken.write_bytes(whole)
            again = self.loader(self.folder, workers=1)
            again.load_state_dict(state)
            self.assertEqual(taken + self.numbers(again), list(range(40)))
            broken.write_bytes(b"no array")

    def test_set_epoch_leaves_a_loop_that_was_broken_off(self):
        loader = self.loader(self.array(), shuffle=True)
        orders = [self.numbers(loader) for _ in range(6)]
        for broken, epoch in ((0, 5), (2, 2), (2, 3), (4, 0)):
            loader.set_epoch(broken)
            batches = iter(loader)
            next(batches)
            self.assertEqual(self.place(loader), (broken, 8))
            loader.set_epoch(epoch)
            self.assertEqual(self.place(loader), (epoch, 0))
            state = loader.state_dict()
            self.assertEqual(self.numbers(loader), orders[epoch])
            loader.load_state_dict(state)
            self.assertEqual(self.numbers(loader), orders[epoch])
        # Set within the loop, for the one after it.
        loader.set_epoch(1)
        found = []
        for images, _ in loader:
            found += cases.ids(images)
            loader.set_epoch(4)
            if len(found) == 80:
                next_state = loader.state_dict()
        self.assertEqual(found, orders[1])
        self.assertEqual(next_state["epoch"], 4)
        self.assertEqual(self.numbers(loader), orders[4])

    def test_a_sampler_sets_the_epoch_also_after_the_iterator_is_made(self):
        """As Lightning does."""
        loader = self.loader(self.array(), shuffle=True)
        orders = [self.numbers(loader) for _ in range(4)]
        for epoch in (3, 1):
            batches = iter(loader)
            loader.sampler.set_epoch(epoch)
            self.assertEqual(self.place(loader), (epoch, 0))
            self.assertEqual(self.numbers(batches), orders[epoch])
            self.assertEqual(self.place(loader), (epoch + 1, 0))
        loader.load_state_dict({**loader.state_dict(), "position": 60})
        batches = iter(loader)
        loader.sampler.set_epoch(2)
        self.assertEqual(self.numbers(batches), orders[2][60:])

    def test_a_place_that_does_not_exist_is_refused(self):
        loader = self.loader(self.array())
        state = loader.state_dict()
        for wrong, words in (
            ({"position": 100}, "position 100 is beyond .* 100 items"),
            ({"position": 10**9}, "beyond"),
            ({"position": -1}, "position=-1 "),
            ({"epoch": 0.5}, "epoch=0.5 "),
        ):
            with self.assertRaisesRegex(ValueError, words):
                loader.load_state_dict({**state, **wrong})
        del state["seed"]
        with self.assertRaisesRegex(ValueError, "has no seed"):
            loader.load_state_dict(state)
        self.assertEqual(self.numbers(loader), EVERY)

    def test_ranks_that_continue_have_as_many_batches_or_are_told(self):
        """Every position, with every tail, by 1 to 4 ranks."""
        source = self.array(23)
        cases_told = 0
        for world, size, tail in itertools.product(
            range(1, 5), (1, 3), ("keep", "pad", "drop")
        ):
            arguments = {"batch_size": size, "world_size": world, "tail": tail}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaders = [
                    self.loader(source, rank=rank, workers=0, **arguments)
                    for rank in range(world)
                ]
            state = loaders[0].state_dict()
            for position in range(23):
                state["position"] = position
                counts, told = set(), 0
                for loader in loaders:
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        loader.load_state_dict(state)
                    told += len(caught)
                    counts.add(len(list(loader)))
                expected = 0 if len(counts) == 1 else world
                self.assertEqual(told, expected, (arguments, position, counts))
                cases_told += told > 0
        self.assertGreater(cases_told, 0)


class ThreadsTest(cases.Case):
    def run_threads(self, count, work):
        """Errors of all threads."""
        errors = []

        def run():
            try:
                work()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads, errors

    def test_several_take_batches_of_one_loop(self):
        loader = self.loader(self.array(), batch_size=4, shuffle=True)
        for epoch in range(100):
            found = []
            batches = iter(loader)

            def take(batches=batches, found=found):
                for images, _ in batches:
                    found.append(cases.ids(images))
                    loader.state_dict()

            threads, errors = self.run_threads(4, take)
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])
            self.assertEqual(sorted(itertools.chain(*found)), EVERY)
            self.assertEqual(loader.epoch, epoch + 1)

    def test_closing_ends_the_wait_of_another(self):
        """Whose batch takes seconds."""
        source = cases.noisy(400, height=64, width=64)
        for _ in range(3):
            loader = self.loader(
                source,
                batch_size=400,
                crop=64,
                workers=1,
                transforms=["GaussianBlur"] * 50,
            )
            batches = iter(loader)
            started = threading.Event()

            def take(batches=batches, started=started):
                started.set()
                next(batches)

            threads, errors = self.run_threads(2, take)
            started.wait()
            loader.close()
            for thread in threads:
                thread.join()
            self.assertEqual(len(errors), 2)
            for error in errors:
                self.assertIsInstance(error, RuntimeError)
                self.assertIn("closed", str(error))


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(*sys.argv[2:])
    else:
        unittest.main()
