"""MosaicML Streaming: shards of its own format (MDS), written from the files
before the clock starts, and streamed by worker processes."""

import json
import os

import streaming
from loaders.source import converted
from loaders.stream import StreamLoader, join_ranks


class Loader(StreamLoader):
    DataLoader = streaming.StreamingDataLoader
    name = "MosaicML Streaming"

    def __init__(self, source, recipe, spec, command):
        super().__init__(source, recipe, spec, command)
        if not source.decodes or spec.source != "files":
            raise ValueError("shards of MosaicML Streaming come from files")
        self._folder = converted("streaming", source, self._write)
        # Each rank is on a machine of its own.
        os.environ |= {
            "RANK": str(spec.rank),
            "WORLD_SIZE": str(spec.ranks),
            "LOCAL_RANK": "0",
            "LOCAL_WORLD_SIZE": "1",
        }
        join_ranks(spec)

    def state(self):
        return json.dumps(self._loader.state_dict())

    def resume(self, state):
        self._loader.load_state_dict(json.loads(state))

    def _write(self, folder):
        columns = {"index": "int", "data": "bytes"}
        with streaming.MDSWriter(out=str(folder), columns=columns) as writer:
            for index in range(len(self._source)):
                with open(self._source.path(index), "rb") as file:
                    writer.write({"index": index, "data": file.read()})

    def _arguments(self, seed):
        return super()._arguments(seed) | {
            "batch_size": self._spec.batch_size,
            "collate_fn": self._collate(),
            "drop_last": self._spec.drop_last,
        }

    def _stream(self):
        return _Images(
            self._load,
            local=str(self._folder),
            shuffle=self._spec.shuffle,
            shuffle_seed=self._seed,
            batch_size=self._spec.batch_size,
        )

    def _load(self, item):
        index = int(item["index"])
        return self._item(index, item["data"], self._source.path(index))


class _Images(streaming.StreamingDataset):
    def __init__(self, load, **arguments):
        super().__init__(**arguments)
        self._load = load

    def __getitem__(self, index):
        return self._load(super().__getitem__(index))
