// Distribution of the work of the GPU loader: pieces of batches, settings, and
// which JPEG files the engines take. Needs no GPU.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Samples 0 … count-1 in batches of `batch_size`, of which `slots` exist at a
// time. Makers take pieces of different sizes, so that slow and fast decoders
// work on the same batch, each from its own end. Thread-safe.
class BatchQueue {
 public:
  // Samples of a batch that one maker makes.
  struct Piece {
    int64_t batch = 0;
    // Position of the batch's first sample.
    int64_t first = 0;
    int slot = 0;
    // Number of samples of the batch.
    int size = 0;
    // Places of the piece's samples in the batch.
    std::vector<int> places;
    // Place p is paired with place size-1-p; both are in the piece and
    // adjacent.
    bool paired = false;

    int samples() const { return static_cast<int>(places.size()); }
    // Index of the partner of sample `i` within the piece; -1: it has no
    // partner but itself.
    int PartnerOf(int i) const;
  };
  struct Batch {
    int64_t first = 0;
    int count = 0;
    int slot = 0;
  };
  // Cost of sample `position` of the epoch for makers that take from the low
  // end, relative to the others.
  using Cost = std::function<double(int64_t position)>;
  enum class End { kLow, kHigh };

  // `paired`: sample i of n comes together with sample n-1-i. Without `cost`
  // samples are taken in order. `splits_last`: as BatchRingOptions has it.
  // REQUIRES: numbers are at least 1.
  BatchQueue(int64_t count, int batch_size, int slots, bool paired = false,
             Cost cost = nullptr, bool splits_last = false);

  // Takes up to `most` samples of one batch (at least two if paired), as soon
  // as its slot is free: the cheapest ones, or the most expensive. Returns none
  // at the end or after Fail.
  std::optional<Piece> Take(int most, End end = End::kLow);
  void Done(const Piece& piece);

  // Returns the next batch in order once it is complete, and gives back the
  // previous one. None at the end of the epoch. Returns the error passed to
  // Fail.
  absl::StatusOr<std::optional<Batch>> Next();
  // Gives back the batch that Next returned, so that its slot is used again.
  void GiveBack();
  // Gives back, and returns true if Next need not wait; waits for that at most
  // `seconds`.
  bool WaitFor(double seconds);

  // Ends all calls of Take and Next; keeps the first error. OK: the epoch ends
  // early.
  void Fail(const absl::Status& status);

 private:
  int64_t BeginOf(int64_t batch) const;
  int SizeOf(int64_t batch) const;
  void OpenBatch();
  // REQUIRES: the mutex is held.
  void FreeSlot();
  bool IsReady() const;

  const int64_t count_;
  const int batch_size_;
  const bool splits_last_;
  const int64_t batches_;
  const int slots_;
  const bool paired_;
  const Cost cost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // The batch that is handed out, and what is left of it: samples, or the first
  // of each pair, sorted by cost, from low_ to before high_.
  int64_t batch_ = 0;
  std::vector<int> units_;
  int low_ = 0;
  int high_ = 0;
  // Number of batches delivered. The consumer may still use the last.
  int64_t delivered_ = 0;
  bool holding_ = false;
  // Number of missing samples per slot.
  std::vector<int> missing_;
  bool stopped_ = false;
  absl::Status status_;
};

struct GpuLoaderOptions {
  // Threads that decode on the CPU. 0: one if there is no engine.
  int workers = 0;
  // Threads that feed nvJPEG's hardware engine, and its kernels.
  int hardware_threads = 0;
  int gpu_threads = 0;
  // nvJPEG was not requested: if it is not installed, the CPU decodes.
  bool nvjpeg_optional = false;
  // An index of JPEG files is wanted; nvJPEG then decodes nothing.
  bool jpeg_index = false;
};

// Who decodes: `workers`, and the settings `nvjpeg` (auto, hardware, gpu, both
// or off), `nvjpeg_threads` (threads for each of these) and `jpeg_index` (true
// or false). InvalidArgument names an unknown setting.
absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(
    int workers, const std::map<std::string, std::string>& settings);

// Decodes files first … first+count-1 of a batch.
using DecodePart = std::function<absl::Status(int first, int count)>;

// Decodes files 0 … count-1 as a whole if that works, else in parts. An engine
// reports that something in a batch is wrong (DataLoss) but not in which file,
// and sometimes that a batch is too large (ResourceExhausted). In both cases
// halves are tried, then quarters, and so on. Returns the files that fail
// alone; returns any other error unchanged.
absl::StatusOr<std::vector<int>> DecodeInParts(int count,
                                               const DecodePart& decode);

// What an engine needs to know about a JPEG file.

struct JpegHead {
  int height = 0;
  int width = 0;
  int components = 0;
  // Sequential Huffman coding with 8 bits: what hardware decodes.
  bool baseline = false;
  // Sampling of the first component relative to the second, horizontally and
  // vertically.
  int across = 1;
  int down = 1;
};

// None if there is no frame header: truncated, or not a JPEG.
std::optional<JpegHead> ReadJpegHead(absl::string_view bytes);

// True if nvJPEG's engine decodes it: baseline, gray or color, and not sampled
// as 4:1:1 or 4:1:0.
bool EngineDecodes(const JpegHead& head);

}  // namespace feedrate
