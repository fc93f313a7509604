// Buffers between those who read ahead and those who use what was read. For
// read_ahead*.cc alone.
#ifndef FEEDRATE_LIB_LOADER_READ_RING_H_
#define FEEDRATE_LIB_LOADER_READ_RING_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/read_buffer.h"
#include "lib/loader/source.h"

namespace feedrate {

// A place for each of `depth` positions that follow each other: position p is
// in place p % depth. Thread-safe.
class ReadRing {
 public:
  ReadRing(int depth, int64_t count);

  // The next position to read, after waiting for its place to be free; -1 when
  // there is none or the ring is stopped. Without `wait`, -2 instead of
  // waiting.
  int64_t NextToRead(bool wait, int64_t* waited_ns);
  // The buffer of a position got from NextToRead, until Filled.
  ReadBuffer* buffer(int64_t position) {
    return &places_[position % places_.size()].buffer;
  }
  void Filled(int64_t position, absl::StatusOr<absl::string_view> bytes);

  absl::StatusOr<absl::string_view> Take(int64_t position);
  void Release(int64_t position);
  void Stop();

  // Mean share of places that were filled when somebody took one.
  double MeanFill() const;

 private:
  struct Place {
    ReadBuffer buffer;
    absl::StatusOr<absl::string_view> bytes = absl::string_view();
    int64_t position = -1;  // Who has it; -1: free.
    bool filled = false;
  };

  const int64_t count_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable filled_;
  std::vector<Place> places_;
  int64_t next_ = 0;
  bool stopped_ = false;
  int64_t ready_ = 0;  // Filled and not taken.
  int64_t ready_sum_ = 0;
  int64_t takes_ = 0;
};

// Reads by the source itself. Internal when that throws, which a thread of its
// own must not.
absl::StatusOr<absl::string_view> ReadWithoutThrowing(const Source& source,
                                                      int64_t item,
                                                      ReadBuffer* buffer);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_RING_H_
