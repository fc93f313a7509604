#include "lib/loader/read_ahead_remote.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/adapters/worker/timing_loop.h"

namespace feedrate {
namespace {

constexpr int64_t kBytesAhead = int64_t{64} << 20;

// Positions that one request reads.
struct Group {
  int64_t begin = 0;  // Position of the first.
  int64_t end = 0;
  int64_t first_item = 0;
  int64_t bytes = 0;
  int64_t left = 0;  // Positions that are not given back.
  bool is_ready = false;
  absl::Status status;
  std::unique_ptr<ReadBuffer> buffer;
};

// What answers need that come after the epoch's end; so they share it.
struct Window {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Group>> groups;  // By position.
  std::vector<std::unique_ptr<ReadBuffer>> spare;
  int64_t next = 0;         // Position that no group has yet.
  int64_t bytes_ahead = 0;  // Of all groups.
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
              const ItemOrder& order)
      : source_(source),
        order_(order),
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
    const int64_t item = order_.Item(position);
    // Room that was reserved is not moved.
    const char* const data = group->buffer->Reserve(0);
    const absl::string_view bytes(
        data + source_.OffsetInSpan(group->first_item, item),
        source_.bytes(item));
    const absl::Status status = source_.Check(item, bytes);
    if (!status.ok()) return status;
    return bytes;
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
  // Under the lock, all of them.
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
      // Without the lock: the answer may come within the call.
      char* const out = group->buffer->Reserve(group->bytes);
      const int64_t last = group->first_item + (group->end - group->begin) - 1;
      source_.StartRead(group->first_item, last, out,
                        [window = window_, group](absl::Status status) {
                          Arrived(window.get(), group.get(), std::move(status));
                        });
    }
  }

  const RemoteSource& source_;
  const ItemOrder& order_;
  const int64_t least_groups_;
  const int64_t most_groups_;
  const std::shared_ptr<Window> window_;
};

}  // namespace

std::unique_ptr<ReadAhead> StartRemoteReads(const ReadAheadOptions& options,
                                            const RemoteSource& source,
                                            const ItemOrder& order) {
  return std::make_unique<RemoteReads>(options, source, order);
}

}  // namespace feedrate
