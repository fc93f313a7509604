#include "lib/loader/read_ahead_uring.h"

#include <fcntl.h>
#include <liburing.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/loader/read_ring.h"

namespace feedrate {
namespace {

// A chain is known to be through when all of its requests are.
constexpr int kChain = 3;

class UringReads : public ReadAhead {
 public:
  UringReads(const ReadAheadOptions& options, const Source& source,
             const ItemOrder& order)
      : depth_(options.depth),
        source_(source),
        order_(order),
        reads_(options.depth),
        ring_(options.depth, order.count()) {}

  ~UringReads() override {
    Stop();
    if (made_) io_uring_queue_exit(&uring_);
  }

  absl::Status Start() {
    int error = -io_uring_queue_init(depth_ * kChain, &uring_, 0);
    made_ = error == 0;
    if (error == 0) error = -io_uring_register_files_sparse(&uring_, depth_);
    if (error != 0) {
      return absl::UnimplementedError(
          absl::StrCat("io_uring cannot be used here: ", std::strerror(error),
                       "; read ahead with threads instead"));
    }
    thread_ = std::thread([this] { ReadAll(); });
    return absl::OkStatus();
  }

  ReadMethod method() const override { return ReadMethod::kIoUring; }

  absl::StatusOr<absl::string_view> Take(int64_t position,
                                         ReadBuffer*) override {
    return ring_.Take(position);
  }
  void Release(int64_t position) override { ring_.Release(position); }

  void Stop() override {
    ring_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  ReadAheadTimes times() const override {
    return {busy_ns_, waited_ns_, ring_.MeanFill()};
  }

 private:
  struct UnderWay {
    int64_t position = 0;
    int64_t bytes = 0;
    char* data = nullptr;
    int requests = 0;  // Not yet answered.
    bool read_all = false;
  };

  void ReadAll() {
    int64_t waited_ns = 0;
    const int64_t begin = MonotonicNs();
    int under_way = 0;
    for (bool more = true; more || under_way > 0;) {
      int added = 0;
      while (more) {
        const int64_t position =
            ring_.NextToRead(/*wait=*/under_way + added == 0, &waited_ns);
        if (position == -2) break;
        more = position >= 0;
        if (more) added += Ask(position) ? 1 : 0;
      }
      if (added > 0) io_uring_submit(&uring_);
      under_way += added;
      if (under_way > 0) under_way -= Collect();
    }
    busy_ns_ = MonotonicNs() - begin - waited_ns;
    waited_ns_ = waited_ns;
  }

  // Queues the requests for a position. False when there is nothing to wait
  // for: an empty file.
  bool Ask(int64_t position) {
    const int slot = static_cast<int>(position % depth_);
    const ItemPlace place = source_.Place(order_.Item(position));
    UnderWay& read = reads_[slot];
    read = {};
    read.position = position;
    read.bytes = place.bytes;
    read.data = ring_.buffer(position)->Reserve(place.bytes);
    if (place.bytes <= 0) {
      ring_.Filled(position, absl::string_view());
      return false;
    }
    if (place.path == nullptr) {
      Request(slot, true, [&](io_uring_sqe* sqe) {
        io_uring_prep_read(sqe, place.fd, read.data, read.bytes, place.offset);
      });
      return true;
    }
    Request(slot, false, [&](io_uring_sqe* sqe) {
      io_uring_prep_openat_direct(sqe, AT_FDCWD, place.path,
                                  O_RDONLY | O_NONBLOCK, 0, slot);
      sqe->flags |= IOSQE_IO_LINK;
    });
    Request(slot, true, [&](io_uring_sqe* sqe) {
      io_uring_prep_read(sqe, slot, read.data, read.bytes, place.offset);
      // Hard: the file is closed also after a read that did not work.
      sqe->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
    });
    Request(slot, false,
            [&](io_uring_sqe* sqe) { io_uring_prep_close_direct(sqe, slot); });
    return true;
  }

  template <typename Prepare>
  void Request(int slot, bool is_read, const Prepare& prepare) {
    // There are as many entries as requests can be under way.
    io_uring_sqe* const sqe = io_uring_get_sqe(&uring_);
    prepare(sqe);
    io_uring_sqe_set_data64(sqe, static_cast<uint64_t>(slot) * 2 + is_read);
    ++reads_[slot].requests;
  }

  // Waits for some answers. How many positions are through.
  int Collect() {
    io_uring_cqe* cqe = nullptr;
    if (io_uring_wait_cqe(&uring_, &cqe) != 0) return 0;  // A signal.
    int through = 0;
    do {
      const uint64_t data = io_uring_cqe_get_data64(cqe);
      UnderWay& read = reads_[data / 2];
      if (data % 2 == 1) read.read_all = cqe->res == read.bytes;
      io_uring_cqe_seen(&uring_, cqe);
      if (--read.requests == 0) {
        Finish(read);
        ++through;
      }
    } while (io_uring_peek_cqe(&uring_, &cqe) == 0);
    return through;
  }

  void Finish(const UnderWay& read) {
    if (read.read_all) {
      ring_.Filled(read.position, absl::string_view(read.data, read.bytes));
      return;
    }
    ring_.Filled(read.position,
                 ReadWithoutThrowing(source_, order_.Item(read.position),
                                     ring_.buffer(read.position)));
  }

  const int depth_;
  const Source& source_;
  const ItemOrder& order_;
  io_uring uring_;
  bool made_ = false;
  std::vector<UnderWay> reads_;
  ReadRing ring_;
  std::atomic<int64_t> busy_ns_{0};
  std::atomic<int64_t> waited_ns_{0};
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadAhead>> StartUringReads(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order) {
  auto reads = std::make_unique<UringReads>(options, source, order);
  const absl::Status status = reads->Start();
  if (!status.ok()) return status;
  return reads;
}

}  // namespace feedrate
