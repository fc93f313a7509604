#include "lib/loader/read_ring.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"

namespace feedrate {

ReadRing::ReadRing(int depth, int64_t count) : count_(count), places_(depth) {}

int64_t ReadRing::NextToRead(bool wait, int64_t* waited_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto free = [this] {
    return stopped_ || next_ >= count_ ||
           places_[next_ % places_.size()].position < 0;
  };
  if (!free()) {
    if (!wait) return -2;
    const int64_t begin = MonotonicNs();
    freed_.wait(lock, free);
    *waited_ns += MonotonicNs() - begin;
  }
  if (stopped_ || next_ >= count_) return -1;
  Place& place = places_[next_ % places_.size()];
  place.position = next_;
  place.filled = false;
  return next_++;
}

void ReadRing::Filled(int64_t position,
                      absl::StatusOr<absl::string_view> bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Place& place = places_[position % places_.size()];
    place.bytes = std::move(bytes);
    place.filled = true;
    ++ready_;
  }
  filled_.notify_all();
}

absl::StatusOr<absl::string_view> ReadRing::Take(int64_t position) {
  std::unique_lock<std::mutex> lock(mutex_);
  Place& place = places_[position % places_.size()];
  ready_sum_ += ready_;
  ++takes_;
  filled_.wait(lock, [&] {
    return stopped_ || (place.filled && place.position == position);
  });
  if (stopped_) return absl::CancelledError("stopped");
  --ready_;
  return place.bytes;
}

void ReadRing::Release(int64_t position) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Place& place = places_[position % places_.size()];
    place.position = -1;
    place.filled = false;
  }
  freed_.notify_all();
}

void ReadRing::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  freed_.notify_all();
  filled_.notify_all();
}

double ReadRing::MeanFill() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (takes_ == 0) return 0;
  return static_cast<double>(ready_sum_) / takes_ / places_.size();
}

absl::StatusOr<absl::string_view> ReadWithoutThrowing(const Source& source,
                                                      int64_t item,
                                                      ReadBuffer* buffer) {
  try {
    return source.Read(item, buffer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("reading threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("reading threw something that is no exception");
  }
}

}  // namespace feedrate
