// The ways to read ahead, and the buffers they share. Only for read_ahead.cc.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/read_ahead/read_ahead.h"
#include "lib/loader/source.h"
#include "lib/loader/source/remote_source.h"

namespace feedrate {

// Buffers for `depth` consecutive positions; position p uses buffer p % depth.
// Thread-safe.
class ReadRing {
 public:
  ReadRing(int depth, int64_t count);

  // Returns the next position to read, after waiting until its buffer is free;
  // -1 at the end or after Stop. Without `wait`, returns -2 instead of waiting.
  int64_t NextToRead(bool wait, int64_t* waited_ns);
  // The buffer of a position returned by NextToRead. Valid until Filled.
  ReadBuffer* buffer(int64_t position) {
    return &places_[position % places_.size()].buffer;
  }
  void Filled(int64_t position, absl::StatusOr<absl::string_view> bytes);

  absl::StatusOr<absl::string_view> Take(int64_t position);
  void Release(int64_t position);
  void Stop();

  // Mean share of buffers that were filled when one was taken.
  double MeanFill() const;

 private:
  struct Place {
    ReadBuffer buffer;
    absl::StatusOr<absl::string_view> bytes = absl::string_view();
    int64_t position = -1;  // Position that uses the buffer; -1: free.
    bool filled = false;
  };

  const int64_t count_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable filled_;
  std::vector<Place> places_;
  int64_t next_ = 0;
  bool stopped_ = false;
  int64_t ready_ = 0;  // Filled and not yet taken.
  int64_t ready_sum_ = 0;
  int64_t takes_ = 0;
};

// Calls source.Read, and returns Internal if it throws: an exception must not
// leave a reader thread.
absl::StatusOr<absl::string_view> ReadWithoutThrowing(const Source& source,
                                                      int64_t item,
                                                      ReadBuffer* buffer);

// Reads by io_uring. Open, read and close of a file are one chain of three
// requests, a read from a shard is one request; one system call submits all
// requests that there is room for. Failed items are read again by Source::Read,
// which has proper error messages.
absl::StatusOr<std::unique_ptr<ReadAhead>> StartUringReads(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order);

// Reads from an object store. Consecutive positions in one block of a shard are
// one request; any other position is a request of its own, for the part of the
// item that `find_part` finds, if there is one. Starts enough
// requests to keep all connections busy: at least one more than there are
// connections, then more while fewer than `depth` items and less than 64 MB are
// ahead.
//
// Stop does not wait for responses; late ones are dropped.
std::unique_ptr<ReadAhead> StartRemoteReads(const ReadAheadOptions& options,
                                            const RemoteSource& source,
                                            const ItemOrder& order,
                                            FindPart find_part);

}  // namespace feedrate
