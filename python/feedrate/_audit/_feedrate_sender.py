"""Hands lines of a training, and the tensors that tell their items, to another
process (_feedrate_reader.py).

Tensors are copied, from a device in the background, into memory that both
share. Lines are sent by groups, once the copies of a group are done, which is
looked up at the end of later groups. So a training waits for no device, no
thread takes Python from it, and a step gets as few operations as possible.
"""

import collections
import json
import mmap
import os
import subprocess
import sys
import time

# Where tensors begin, behind how far the reader is.
START = 64
_ALIGNMENT = 64
_GROUP = 4
# So many groups fit; if none of them has been read, the training waits.
_MOST_GROUPS = 3
# That the process may take to read the last ones.
_MOST_SECONDS = 120
_MOST_VIEWS = 256
# Of labels, which come later.
_ROOM = 1 << 14


def _size_of(tensor):
    return tensor.numel() * tensor.element_size()


class Sender:
    def __init__(self, file, tensors):
        """Lines go to `file`; `tensors` are those of a line. Of each tensor,
        the size is a multiple of four bytes."""
        import torch

        size = sum(map(_size_of, tensors)) + _ROOM
        size = -(-size // _ALIGNMENT) * _ALIGNMENT * _GROUP * _MOST_GROUPS
        shared = os.memfd_create("feedrate_audit")
        try:
            os.ftruncate(shared, START + size)
            memory = mmap.mmap(shared, START + size)
            here = os.path.dirname(os.path.abspath(__file__))
            script = os.path.join(here, "_feedrate_reader.py")
            self._reader = subprocess.Popen(
                [sys.executable, script, str(shared)],
                stdin=subprocess.PIPE,
                stdout=file,
                bufsize=0,
                pass_fds=[shared],
                env={**os.environ, "FEEDRATE_AUDIT": ""},
            )
        finally:
            os.close(shared)
        self._read = memoryview(memory)[:8].cast("Q")
        self._ring = torch.frombuffer(memory, dtype=torch.int32, offset=START)
        self._size = size
        self._registered = any(tensor.is_cuda for tensor in tensors)
        if self._registered:
            # Copies from a GPU do not wait. Without it, they would.
            torch.cuda.cudart().cudaHostRegister(
                self._ring.data_ptr() - START, START + size, 0
            )
        self._given = 0
        # Of the group: lines with their tensors by name, their bytes, and by
        # device the stream that they are of.
        self._lines = []
        self._bytes = 0
        self._streams = {}
        self._groups = collections.deque()
        self._views = {}

    def send(self, line, tensors):
        """`tensors` by name, which nobody changes any more; false if there is
        too little memory for them."""
        size = sum(map(_size_of, tensors.values()))
        most = self._size // _MOST_GROUPS - _ROOM
        if size > most:
            return False
        if self._bytes + size > most or len(self._lines) >= _GROUP:
            self._end_group()
            self._pass_on()
        self._note_streams(tensors.values())
        self._bytes += size
        self._lines.append((line, tensors))
        return True

    def send_labels(self, tensors):
        """Of the last line; false if that is not a batch, or too many."""
        size = sum(map(_size_of, tensors.values()))
        self._note_streams(tensors.values())
        if not self._lines or size > _ROOM // _GROUP:
            return False
        line, others = self._lines[-1]
        if line["kind"] != "batch" or "labels" in others:
            return False
        self._bytes += size
        others.update(tensors)
        return True

    def end(self):
        """Waits until all lines are written; false if they were not."""
        self._end_group()
        self._pass_on(wait=True)
        self._reader.stdin.close()
        try:
            done = self._reader.wait(_MOST_SECONDS) == 0
        except subprocess.TimeoutExpired:
            self._reader.kill()
            done = False
        if self._registered:
            import torch

            torch.cuda.cudart().cudaHostUnregister(
                self._ring.data_ptr() - START
            )
        return done

    def forget(self):
        """In a process that was forked, which would keep the pipe open."""
        self._reader.stdin.close()

    def _note_streams(self, tensors):
        """A group ends where a training goes to another stream."""
        import torch

        for tensor in tensors:
            if not tensor.is_cuda:
                continue
            device = tensor.device
            stream = self._streams.get(device)
            if stream is not None:
                now = torch._C._cuda_getCurrentRawStream(device.index)
                if now == stream.cuda_stream:
                    continue
                self._end_group()
            self._streams[device] = torch.cuda.current_stream(device)

    def _end_group(self):
        """Begins to copy what the lines of a group have."""
        import torch

        lines, self._lines = self._lines, []
        streams, self._streams = self._streams, {}
        size = -(-self._bytes // _ALIGNMENT) * _ALIGNMENT
        self._bytes = 0
        self._reserve(size)
        at = self._given % self._size
        by_device = {}
        for line, tensors in lines:
            line["parts"] = {}
            line["until"] = self._given
            for name, tensor in tensors.items():
                one = line["parts"], name, tensor
                by_device.setdefault(tensor.device, []).append(one)
        events = []
        for device, every in by_device.items():
            begin = at
            for parts, name, tensor in every:
                kind = str(tensor.dtype).removeprefix("torch.")
                parts[name] = [START + at, kind, *tensor.shape]
                at += _size_of(tensor)
            words = [t.reshape(-1).view(torch.int32) for _, _, t in every]
            stream = streams.get(device)
            with torch.cuda.stream(stream):
                self._view(begin // 4, at // 4).copy_(
                    torch.cat(words), non_blocking=stream is not None
                )
            if stream is not None:
                events.append(stream.record_event())
        self._given += size
        if lines:
            lines[-1][0]["until"] = self._given
            self._groups.append((events, [line for line, _ in lines]))

    def _view(self, begin, end):
        view = self._views.get((begin, end))
        if view is None:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            view = self._views[begin, end] = self._ring[begin:end]
        return view

    def _reserve(self, size):
        """Waits until the reader needs the next `size` bytes no more."""
        rest = self._size - self._given % self._size
        if rest < size:
            self._given += rest
        if self._given + size - self._read[0] <= self._size:
            return
        self._pass_on(wait=True)
        while self._given + size - self._read[0] > self._size:
            if self._reader.poll() is not None:
                raise BrokenPipeError("the process that reads has ended")
            time.sleep(0.001)

    def _pass_on(self, wait=False):
        """Sends the groups whose copies are done."""
        while self._groups:
            events, lines = self._groups[0]
            for event in events:
                if wait:
                    event.synchronize()
                elif not event.query():
                    return
            self._groups.popleft()
            text = "".join(json.dumps(line) + "\n" for line in lines)
            left = memoryview(text.encode())
            while left:
                left = left[os.write(self._reader.stdin.fileno(), left) :]
