// The loader as C functions, for Python's ctypes: python/feedrate/loader.py is
// the only caller. See docs/python_loader.md.
//
// Functions that can fail return 0, or the number of an absl::StatusCode;
// feedrate_error() has the message, which is safe to print. Any number of
// threads may use a loader at a time. A loader is a number that is never given
// again, so that a call after feedrate_close fails with FAILED_PRECONDITION (9)
// and does no harm. No function may be called in a process that was forked from
// the one that opened the loader.
#pragma once

#include <cstdint>

extern "C" {

// Changes with every change of a function or struct below.
int feedrate_loader_abi();

// Message of the last error on this thread.
const char* feedrate_error();

// Decoded images in memory, which must outlive the loader: uint8 NHWC.
struct feedrate_array {
  const uint8_t* data;
  int64_t count;
  int32_t height;
  int32_t width;
  int32_t channels;
};

// Opens the source and makes the loader. Settings are NAME=VALUE;
// settings.cc lists them. `files` are the items (or shards) of the sources
// `files` and `shards`, `array` is the source `array`; both are otherwise null.
int feedrate_open(const char* const* settings, int64_t num_settings,
                  const char* const* files, int64_t num_files,
                  const feedrate_array* array, int64_t* loader);
// Ends everything: when it returns, no thread of the loader is left. A call of
// another thread that waits for a batch ends with an error before that. Batches
// that were not released stay valid. Does nothing for a closed loader.
void feedrate_close(int64_t loader);

struct feedrate_facts {
  // Number of items.
  int64_t size;
  // Number of samples in an epoch, over all ranks: as many, or 2^60 if it does
  // not end.
  int64_t samples;
  // Bytes of a full batch.
  int64_t batch_bytes;
  // Shape of every sample.
  int32_t channels;
  int32_t height;
  int32_t width;
  // Frames per clip; 1 for images.
  int32_t frames;
  // 1 if samples are mixed, otherwise 0.
  int32_t mixes;
};

int feedrate_describe(int64_t loader, feedrate_facts* facts);
// Writes the names of all items, of clips those of their videos, each ending
// with a zero byte, or with `names` null only how many bytes they have.
int feedrate_names(int64_t loader, char* names, int64_t* bytes);
// Writes the label of each name; -1 for those without. Nothing without the
// setting needs_labels.
int feedrate_labels(int64_t loader, int64_t* labels);
// The same as feedrate_names for the classes that labels are numbers of; none
// if they are not folders.
int feedrate_classes(int64_t loader, char* names, int64_t* bytes);
// What is not among the items, such as "ignored 2 files: 2 .tif", and why the
// index could not be read or, when an epoch has ended, written; or empty. Valid
// until the thread's next call.
int feedrate_left_out(int64_t loader, const char** text);
// Of a loader of episodes: its data sets, the fields of its batches, and what
// needs memory, as JSON; of clips, the memory, for which all videos are opened;
// of images in a store, what was requested so far. Valid until the thread's
// next call.
int feedrate_about(int64_t loader, const char** json);
// Writes four numbers for each episode: those of its data set, of the episode
// in it, of its steps, and of its first text, -1 for none; or for each video:
// its first item, the number of its clips, 0 and 0. With `rows` null, only how
// many rows there are.
int feedrate_entries(int64_t loader, int64_t* rows, int64_t* count);
// Keeps only the episodes whose byte is not 0. Before feedrate_start only.
int feedrate_keep(int64_t loader, const uint8_t* kept, int64_t count);
// Reads all steps of an episode, in order, in the calling thread, to memory of
// the caller: `step_bytes` of feedrate_about for each step.
int feedrate_episode(int64_t loader, int64_t entry, void* out);
// The texts of episodes that have had numbers from `first` on so far, by which
// fields of batches name them, each ending with a zero byte. Valid until the
// thread's next call.
int feedrate_texts(int64_t loader, int64_t first, const char** texts,
                   int64_t* bytes);
// Number of samples of this rank in an epoch from position `start` on.
int feedrate_count(int64_t loader, int64_t start, int64_t* count);

// For a loader with the setting `memory=foreign`: gives it memory of the caller
// for a full batch, such as torch's pinned memory. It is the caller's again
// when feedrate_next delivers a batch in it or when the loader is closed; the
// loader does not touch it after that. feedrate_start needs `prefetch` of them,
// and feedrate_next one more.
int feedrate_give(int64_t loader, void* data);

// Starts an epoch, and ends the one before.
int feedrate_start(int64_t loader, int64_t epoch, int64_t start);

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
int feedrate_next(int64_t loader, double seconds, feedrate_batch* batch);
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

// Number of items that could not be used since feedrate_open, and in the
// current epoch. `text` gets a line for each, NAME tab REASON, those of the
// epoch first, valid until the thread's next call.
int feedrate_faults(int64_t loader, int64_t* items, int64_t* in_epoch,
                    const char** text);
}
