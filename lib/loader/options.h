// What a loader does, as plain data.
#pragma once

#include <cstdint>
#include <string>

#include "lib/loader/batch.h"
#include "lib/loader/recipe.h"

namespace feedrate {

// How items are read.
// kInline: each worker reads its own items, nothing is read ahead. Fastest if
// the files are in the page cache, since no data moves between threads.
// kThreads: a pool of reader threads.
// kIoUring: one thread with many reads in flight in the kernel. Like kThreads,
// it hides disk latency.
// kAuto: samples some items. Chooses kInline if most are in the page cache,
// else kIoUring, or kThreads where io_uring is not allowed or cannot be used.
// kRemote: many requests in flight to an object store. kAuto chooses it for
// items that are not in a local cache.
enum class ReadMethod { kInline, kThreads, kIoUring, kAuto, kRemote };

struct ReadAheadOptions {
  ReadMethod method = ReadMethod::kAuto;
  int threads = 4;
  // Items that are being read or ready to be taken. REQUIRES: > 0.
  int depth = 32;
};

// What happens when a file cannot be used. kSkip: the next usable item takes
// its place, so that batches keep their shape. kFail: the epoch ends.
enum class OnError { kSkip, kFail };

// What to leave out, to measure what it costs. kNoDecode: every item has the
// pixels of the first one that the worker decoded; files are still read.
// kCachedBatch: nothing is read or made; batches are delivered unchanged.
enum class Ablation { kNone, kNoAugment, kNoDecode, kCachedBatch };

struct LoaderOptions {
  Recipe recipe;
  MixOptions mix;
  int batch_size = 256;
  // Threads. 0: Next makes the batch itself.
  int workers = 2;
  // Batches in memory, including the consumer's. 1: nothing is made while the
  // consumer is busy.
  int buffers = 2;
  // Threads outlive an epoch.
  bool persistent = false;
  // Drops the last batch if it is not full.
  bool drop_last = false;
  bool shuffle = false;
  uint64_t seed = 0;
  OnError on_error = OnError::kSkip;
  ReadAheadOptions read_ahead;
  // A file with an index of JPEG files: see JpegIndex. Read, and made in the
  // first epoch. Empty: none.
  std::string jpeg_index;
  Ablation ablation = Ablation::kNone;
};

// Items first, first + 1, ..., modulo the number of items.
struct EpochRange {
  int64_t first = 0;
  int64_t count = -1;  // Negative: every item once.
};

}  // namespace feedrate
