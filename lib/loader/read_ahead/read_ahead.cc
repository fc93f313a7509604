#include "lib/loader/read_ahead/read_ahead.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/stopwatch.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/read_ahead/read_ahead_backends.h"
#include "lib/loader/source/remote_source.h"

namespace feedrate {
namespace {

class InlineReads final : public ReadAhead {
 public:
  InlineReads(const Source& source, const ItemOrder& order)
      : source_(source), order_(order) {}

  ReadMethod method() const override { return ReadMethod::kInline; }

  absl::StatusOr<absl::string_view> Take(int64_t position,
                                         ReadBuffer* own) override {
    const int64_t begin = MonotonicNs();
    absl::StatusOr<absl::string_view> bytes =
        source_.Read(order_.Item(position), own);
    busy_ns_.fetch_add(MonotonicNs() - begin, std::memory_order_relaxed);
    return bytes;
  }
  void Release(int64_t) override {}
  void Stop() override {}
  ReadAheadTimes times() const override {
    ReadAheadTimes times;
    times.busy_ns = busy_ns_;
    return times;
  }

 private:
  const Source& source_;
  const ItemOrder& order_;
  std::atomic<int64_t> busy_ns_{0};
};

class ThreadReads final : public ReadAhead {
 public:
  ThreadReads(const ReadAheadOptions& options, const Source& source,
              const ItemOrder& order)
      : source_(source), order_(order), ring_(options.depth, order.count()) {
    for (int i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this] { ReadAll(); });
    }
  }
  ~ThreadReads() override { Stop(); }

  ReadMethod method() const override { return ReadMethod::kThreads; }

  absl::StatusOr<absl::string_view> Take(int64_t position,
                                         ReadBuffer*) override {
    return ring_.Take(position);
  }
  void Release(int64_t position) override { ring_.Release(position); }

  void Stop() override {
    ring_.Stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  ReadAheadTimes times() const override {
    return {busy_ns_, waited_ns_, ring_.MeanFill()};
  }

 private:
  void ReadAll() {
    int64_t busy_ns = 0, waited_ns = 0;
    for (int64_t position;
         (position = ring_.NextToRead(true, &waited_ns)) >= 0;) {
      const int64_t begin = MonotonicNs();
      ring_.Filled(position, ReadWithoutThrowing(source_, order_.Item(position),
                                                 ring_.buffer(position)));
      busy_ns += MonotonicNs() - begin;
    }
    busy_ns_ += busy_ns;
    waited_ns_ += waited_ns;
  }

  const Source& source_;
  const ItemOrder& order_;
  ReadRing ring_;
  std::atomic<int64_t> busy_ns_{0};
  std::atomic<int64_t> waited_ns_{0};
  std::vector<std::thread> threads_;
};

absl::StatusOr<std::unique_ptr<ReadAhead>> StartBest(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order, FindPart find_part) {
  if (IsMostlyCached(source, order)) {
    return std::make_unique<InlineReads>(source, order);
  }
  if (source.remote() != nullptr) {
    return StartRemoteReads(options, *source.remote(), order,
                            std::move(find_part));
  }
  if (!source.has_places()) {
    return std::make_unique<ThreadReads>(options, source, order);
  }
  absl::StatusOr<std::unique_ptr<ReadAhead>> reads =
      StartUringReads(options, source, order);
  if (!absl::IsUnimplemented(reads.status())) return reads;
  return std::make_unique<ThreadReads>(options, source, order);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadAhead>> StartReadAhead(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order, FindPart find_part) {
  if (options.depth < 1 || options.threads < 1) {
    return absl::InvalidArgumentError(
        "reading ahead needs a depth and threads above 0");
  }
  const bool is_remote = source.remote() != nullptr;
  if (options.method ==
      (is_remote ? ReadMethod::kIoUring : ReadMethod::kRemote)) {
    return absl::InvalidArgumentError(
        is_remote ? "io_uring reads files, not objects of a store"
                  : "there is no store to read from");
  }
  if (options.method == ReadMethod::kIoUring && !source.has_places()) {
    return absl::InvalidArgumentError(
        "io_uring reads items as they are, and these must be unpacked; use "
        "read_ahead=threads");
  }
  switch (options.method) {
    case ReadMethod::kInline:
      return std::make_unique<InlineReads>(source, order);
    case ReadMethod::kThreads:
      return std::make_unique<ThreadReads>(options, source, order);
    case ReadMethod::kIoUring:
      return StartUringReads(options, source, order);
    case ReadMethod::kAuto:
      return StartBest(options, source, order, std::move(find_part));
    case ReadMethod::kRemote:
      return StartRemoteReads(options, *source.remote(), order,
                              std::move(find_part));
  }
  return absl::InternalError("a method without a case");
}

namespace {

constexpr int64_t kLooks = 16;

bool IsCached(const ItemPlace& place) {
  UniqueFd opened;
  int fd = place.fd;
  if (place.path != nullptr) {
    opened.Reset(open(place.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    fd = opened.get();
  }
  char byte = 0;
  iovec part = {&byte, 1};
  // Fails with EAGAIN instead of waiting for a disk.
  return preadv2(fd, &part, 1, place.offset + place.bytes / 2, RWF_NOWAIT) == 1;
}

}  // namespace

bool IsMostlyCached(const Source& source, const ItemOrder& order) {
  const int64_t looks = std::min(kLooks, order.count());
  int64_t cached = 0;
  for (int64_t i = 0; i < looks; ++i) {
    const int64_t item = order.Item(i * order.count() / looks);
    cached += source.remote() != nullptr ? source.remote()->IsNear(item)
                                         : IsCached(source.Place(item));
  }
  return 2 * cached >= looks;
}

}  // namespace feedrate
