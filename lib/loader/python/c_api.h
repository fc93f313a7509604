// The loader as C functions, for Python's ctypes: python/feedrate/loader.py is
// the only caller. See docs/python_loader.md.
//
// Functions that can fail return 0, or the number of an absl::StatusCode;
// feedrate_error() has the message. A loader may be used by any thread, by one
// at a time. No function may be called in a process that was forked from the
// one that opened the loader.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Changes with every change of a function or struct below.
int feedrate_loader_abi();

// Message of the last error on this thread.
const char* feedrate_error();

struct feedrate_loader;

// Decoded images in memory, which must outlive the loader: uint8 NHWC.
struct feedrate_array {
  const uint8_t* data;
  int64_t count;
  int32_t height;
  int32_t width;
  int32_t channels;
};

// cudaHostRegister and cudaHostUnregister of the CUDA that Python has loaded.
// Batches then lie in pinned memory.
struct feedrate_pinning {
  int (*pin)(void* data, size_t bytes, unsigned flags);
  int (*unpin)(void* data);
};

// Opens the source and makes the loader. Settings are NAME=VALUE;
// settings.cc lists them. `files` are the items (or shards) of the sources
// `files` and `shards`, `array` is the source `array`; both are otherwise null,
// as is `pinning`.
int feedrate_open(const char* const* settings, int64_t num_settings,
                  const char* const* files, int64_t num_files,
                  const feedrate_array* array, const feedrate_pinning* pinning,
                  feedrate_loader** loader);
// Ends everything. Batches that were not released stay valid.
void feedrate_close(feedrate_loader* loader);

// Number of items.
int64_t feedrate_size(const feedrate_loader* loader);
// Names of all items, each ending with a zero byte. Valid until the next call
// or feedrate_close.
const char* feedrate_names(feedrate_loader* loader, int64_t* bytes);
// Writes the label of each item that the source knows; -1 for the others.
void feedrate_labels(const feedrate_loader* loader, int64_t* labels);
// Writes channels, height and width of every sample, and whether samples are
// mixed (1 or 0).
void feedrate_shape(const feedrate_loader* loader, int32_t* shape);
// Number of samples of this rank in an epoch from position `start` on.
int64_t feedrate_count(const feedrate_loader* loader, int64_t start);

// Starts an epoch, and ends the one before.
int feedrate_start(feedrate_loader* loader, int64_t epoch, int64_t start);

struct feedrate_batch {
  // For feedrate_release. Null after the last batch.
  void* keep;
  const void* data;
  int64_t size;
  const int64_t* items;
  // Weight of a sample's own label; that of its partner, sample size - 1 - i,
  // is the rest. 1 without mixing.
  double own_share;
};

// Gets the next batch, which is valid until it is released. Waits at most
// `seconds`, and returns DEADLINE_EXCEEDED (4) after that.
int feedrate_next(feedrate_loader* loader, double seconds,
                  feedrate_batch* batch);
// May be called by any thread, also after feedrate_close.
void feedrate_release(void* keep);

// The batch as a new DLManagedTensor, which holds it until its deleter is
// called, also after feedrate_release. `stream` is where a consumer of a batch
// on a GPU works on it, as DLPack gives it; batches are complete, so that it
// need not wait. After the deleter, the memory is used again once the stream
// has done what it has to do then.
void* feedrate_dlpack(const void* keep, void* stream);
// Destructor of a PyCapsule with a DLManagedTensor that nobody has taken.
void feedrate_drop_capsule(void* capsule);

// Ends the epoch: workers wait for the next one.
void feedrate_stop(feedrate_loader* loader);

// Number of items that could not be used since feedrate_open. `text` gets the
// first of the current epoch, a line each, valid as for feedrate_names.
int64_t feedrate_faults(feedrate_loader* loader, const char** text);
}
