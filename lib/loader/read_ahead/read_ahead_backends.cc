#include "lib/loader/read_ahead/read_ahead_backends.h"

#include <fcntl.h>
#include <liburing.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/stopwatch.h"

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
    return absl::InternalError(
        "reading threw something that is not an exception");
  }
}

namespace {

// A chain is complete when all its requests are.
constexpr int kChain = 3;

class UringReads final : public ReadAhead {
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
    int requests = 0;  // Not completed yet.
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

  // Queues the requests for a position. Returns false if there is nothing to
  // wait for: an empty file.
  bool Ask(int64_t position) {
    const int slot = static_cast<int>(position % depth_);
    const ItemPlace place = source_.Place(order_.Item(position));
    UnderWay& read = reads_[slot];
    read = {};
    if (place.bytes > kMaxItemBytes) {
      ring_.Filled(position, CheckItemBytes(place.bytes));
      return false;
    }
    read.position = position;
    read.bytes = place.bytes;
    read.data = ring_.buffer(position)->Reserve(place.bytes);
    if (place.bytes <= 0) {
      // Opens it, because a link that leads nowhere has no bytes either.
      ring_.Filled(position, ReadWithoutThrowing(source_, order_.Item(position),
                                                 ring_.buffer(position)));
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
      // A hard link closes the file even after a failed read.
      sqe->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
    });
    Request(slot, false,
            [&](io_uring_sqe* sqe) { io_uring_prep_close_direct(sqe, slot); });
    return true;
  }

  template <typename Prepare>
  void Request(int slot, bool is_read, const Prepare& prepare) {
    // The queue has an entry for every request that can be in flight.
    io_uring_sqe* const sqe = io_uring_get_sqe(&uring_);
    prepare(sqe);
    io_uring_sqe_set_data64(sqe, static_cast<uint64_t>(slot) * 2 + is_read);
    ++reads_[slot].requests;
  }

  // Waits for some completions. Returns the number of completed positions.
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

namespace {

constexpr int64_t kBytesAhead = int64_t{64} << 20;

// Positions that one request reads.
struct Group {
  int64_t begin = 0;  // First position.
  int64_t end = 0;
  int64_t first_item = 0;
  int64_t bytes = 0;
  int64_t left = 0;  // Positions that are not released yet.
  bool is_ready = false;
  absl::Status status;
  std::unique_ptr<ReadBuffer> buffer;
  // Of its only position. Set before the request is made.
  std::unique_ptr<JpegPart> part;
};

// State that is still needed by responses that arrive after the epoch's end;
// therefore shared.
struct Window {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Group>> groups;  // By position.
  std::vector<std::unique_ptr<ReadBuffer>> spare;
  int64_t next = 0;         // First position without a group.
  int64_t bytes_ahead = 0;  // Sum over all groups.
  int64_t under_way = 0;    // Groups that are not ready.
  int64_t busy_since_ns = 0;
  int64_t busy_ns = 0;
  bool stopped = false;
  int64_t ready_sum = 0;
  int64_t group_sum = 0;
};

void Arrived(Window* window, Group* group, absl::Status status) {
  {
    const std::lock_guard<std::mutex> lock(window->mutex);
    group->status = std::move(status);
    group->is_ready = true;
    if (--window->under_way == 0) {
      window->busy_ns += MonotonicNs() - window->busy_since_ns;
    }
  }
  window->changed.notify_all();
}

class RemoteReads final : public ReadAhead {
 public:
  RemoteReads(const ReadAheadOptions& options, const RemoteSource& source,
              const ItemOrder& order, FindPart find_part)
      : source_(source),
        order_(order),
        find_part_(std::move(find_part)),
        least_groups_(source.connections() + 1),
        most_groups_(std::max(options.depth, 2 * source.connections())),
        window_(std::make_shared<Window>()) {
    StartSome();
  }
  ~RemoteReads() override { Stop(); }

  ReadMethod method() const override { return ReadMethod::kRemote; }

  absl::StatusOr<absl::string_view> Take(int64_t position,
                                         ReadBuffer*) override {
    std::shared_ptr<Group> group;
    {
      std::unique_lock<std::mutex> lock(window_->mutex);
      CountFill();
      window_->changed.wait(lock, [&] {
        group = Find(position);
        return window_->stopped || (group != nullptr && group->is_ready);
      });
      if (window_->stopped) return absl::CancelledError("stopped");
    }
    if (!group->status.ok()) return group->status;
    if (group->part != nullptr) {
      return group->part->Finish(group->buffer->Reserve(0));
    }
    const int64_t item = order_.Item(position);
    // Reserved memory does not move.
    const char* const data = group->buffer->Reserve(0);
    const absl::string_view bytes(
        data + source_.OffsetInSpan(group->first_item, item),
        source_.bytes(item));
    const absl::Status status = source_.Check(item, bytes);
    if (!status.ok()) return status;
    return bytes;
  }

  const JpegPart* PartAt(int64_t position) const override {
    const std::lock_guard<std::mutex> lock(window_->mutex);
    const std::shared_ptr<Group> group = Find(position);
    return group == nullptr ? nullptr : group->part.get();
  }

  void Release(int64_t position) override {
    {
      const std::lock_guard<std::mutex> lock(window_->mutex);
      if (window_->stopped) return;
      const std::shared_ptr<Group> group = Find(position);
      // Taken by a worker that was stopped while it waited.
      if (group == nullptr || !group->is_ready) return;
      if (--group->left > 0) return;
      window_->bytes_ahead -= group->bytes;
      window_->spare.push_back(std::move(group->buffer));
      window_->groups.erase(
          std::find(window_->groups.begin(), window_->groups.end(), group));
    }
    StartSome();
  }

  void Stop() override {
    {
      const std::lock_guard<std::mutex> lock(window_->mutex);
      if (!window_->stopped && window_->under_way > 0) {
        window_->busy_ns += MonotonicNs() - window_->busy_since_ns;
        window_->busy_since_ns = MonotonicNs();
      }
      window_->stopped = true;
    }
    window_->changed.notify_all();
  }

  ReadAheadTimes times() const override {
    const std::lock_guard<std::mutex> lock(window_->mutex);
    ReadAheadTimes times;
    times.busy_ns = window_->busy_ns;
    times.fill = window_->group_sum == 0
                     ? 0
                     : static_cast<double>(window_->ready_sum) /
                           static_cast<double>(window_->group_sum);
    return times;
  }

 private:
  // The following methods require the lock.
  std::shared_ptr<Group> Find(int64_t position) const {
    const auto& groups = window_->groups;
    auto at = std::upper_bound(
        groups.begin(), groups.end(), position,
        [](int64_t p, const auto& group) { return p < group->end; });
    return at != groups.end() && (*at)->begin <= position ? *at : nullptr;
  }

  void CountFill() {
    for (const auto& group : window_->groups) {
      window_->ready_sum += group->is_ready;
    }
    window_->group_sum += static_cast<int64_t>(window_->groups.size());
  }

  bool HasRoom() const {
    const int64_t groups = static_cast<int64_t>(window_->groups.size());
    if (window_->stopped || window_->next >= order_.count()) return false;
    if (groups < least_groups_) return true;
    return groups < most_groups_ && window_->bytes_ahead < kBytesAhead;
  }

  std::shared_ptr<Group> NewGroup() {
    auto group = std::make_shared<Group>();
    group->begin = window_->next;
    group->first_item = order_.Item(group->begin);
    int64_t last = group->first_item;
    group->end = group->begin + 1;
    while (group->end < order_.count() && source_.JoinsNext(last) &&
           order_.Item(group->end) == last + 1) {
      ++group->end;
      ++last;
    }
    group->left = group->end - group->begin;
    group->bytes = source_.Span(group->first_item, last);
    if (window_->spare.empty()) {
      group->buffer = std::make_unique<ReadBuffer>();
    } else {
      group->buffer = std::move(window_->spare.back());
      window_->spare.pop_back();
    }
    window_->next = group->end;
    window_->bytes_ahead += group->bytes;
    if (window_->under_way++ == 0) window_->busy_since_ns = MonotonicNs();
    window_->groups.push_back(group);
    return group;
  }

  void StartSome() {
    for (;;) {
      std::shared_ptr<Group> group;
      {
        const std::lock_guard<std::mutex> lock(window_->mutex);
        if (!HasRoom()) return;
        group = NewGroup();
      }
      // Without the lock: the response may arrive within the call.
      const auto done = [window = window_, group](absl::Status status) {
        Arrived(window.get(), group.get(), std::move(status));
      };
      if (find_part_ && group->end == group->begin + 1) {
        group->part = find_part_(group->first_item);
      }
      if (group->part != nullptr) {
        const JpegPart& part = *group->part;
        source_.StartPartRead(group->first_item, part.begin(), part.end(),
                              part.place(group->buffer->Reserve(part.room())),
                              done);
        continue;
      }
      char* const out = group->buffer->Reserve(group->bytes);
      const int64_t last = group->first_item + (group->end - group->begin) - 1;
      source_.StartRead(group->first_item, last, out, done);
    }
  }

  const RemoteSource& source_;
  const ItemOrder& order_;
  const FindPart find_part_;
  const int64_t least_groups_;
  const int64_t most_groups_;
  const std::shared_ptr<Window> window_;
};

}  // namespace

std::unique_ptr<ReadAhead> StartRemoteReads(const ReadAheadOptions& options,
                                            const RemoteSource& source,
                                            const ItemOrder& order,
                                            FindPart find_part) {
  return std::make_unique<RemoteReads>(options, source, order,
                                       std::move(find_part));
}

}  // namespace feedrate
