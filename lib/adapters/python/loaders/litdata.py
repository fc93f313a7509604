"""LitData: chunks of its own format, written from the files before the clock
starts, and streamed by worker processes."""

import base64
import pickle

import litdata
from litdata.streaming.writer import BinaryWriter
from loaders.source import converted
from loaders.stream import StreamLoader, join_ranks

_CHUNK_BYTES = "64MB"  # LitData's default.


class Loader(StreamLoader):
    DataLoader = litdata.StreamingDataLoader
    name = "LitData"

    def __init__(self, source, recipe, spec, command):
        super().__init__(source, recipe, spec, command)
        if not source.decodes or spec.source != "files":
            raise ValueError("LitData's chunks are written from files")
        self._folder = converted("litdata", source, self._write)
        join_ranks(spec)

    def state(self):
        state = pickle.dumps(self._loader.state_dict())
        return base64.b64encode(state).decode()

    def resume(self, state):
        state = pickle.loads(base64.b64decode(state))
        self._loader.load_state_dict(state)

    def _write(self, folder):
        writer = BinaryWriter(str(folder), chunk_bytes=_CHUNK_BYTES)
        for index in range(len(self._source)):
            with open(self._source.path(index), "rb") as file:
                writer.add_item(index, {"index": index, "data": file.read()})
        writer.done()
        writer.merge()

    def _arguments(self, seed):
        return super()._arguments(seed) | {
            "batch_size": self._spec.batch_size,
            "collate_fn": self._collate(),
            # None is its default: it drops the rest only for ranks.
            "drop_last": self._spec.drop_last or None,
        }

    def _stream(self):
        return litdata.StreamingDataset(
            str(self._folder),
            shuffle=self._spec.shuffle,
            seed=self._seed,
            transform=self._load,
        )

    def _load(self, item):
        index = int(item["index"])
        return self._item(index, item["data"], self._source.path(index))
