#include "lib/runner/tree_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

// Not more often, however fast a look is.
constexpr auto kInterval = std::chrono::milliseconds(50);
// A look of n ms is followed by a rest of this many times n.
constexpr int kRest = 100;

}  // namespace

TreeWatch::TreeWatch(pid_t parent, pid_t pid, double first_s)
    : parent_(parent),
      pid_(pid),
      first_s_(first_s),
      thread_([this] { Run(); }) {}

TreeWatch::~TreeWatch() { Stop(); }

void TreeWatch::Look() {
  // Part of the name that corpora have.
  const std::optional<int64_t> bytes =
      TreePssBytes(Root(), parent_, pid_, "feedrate-corpus");
  const std::lock_guard<std::mutex> lock(mutex_);
  ++looks_;
  if (!bytes.has_value()) return;
  peak_bytes_ = std::max(peak_bytes_.value_or(0), *bytes);
}

void TreeWatch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  auto rest = std::max<Clock::duration>(
      kInterval, std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(first_s_)));
  while (!stopped_.wait_for(lock, rest, [this] { return stop_; })) {
    lock.unlock();
    const Clock::time_point start = Clock::now();
    Look();
    rest = std::max<Clock::duration>(kInterval, kRest * (Clock::now() - start));
    lock.lock();
  }
}

int64_t TreeWatch::looks() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return looks_;
}

std::optional<int64_t> TreeWatch::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    // Short epochs are over before the first look; this one costs them nothing.
    if (!peak_bytes_.has_value()) Look();
  }
  return peak_bytes_;
}

}  // namespace feedrate
