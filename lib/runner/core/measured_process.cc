#include "lib/runner/core/measured_process.h"

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/machine/resources.h"
#include "lib/records/fields.h"
#include "lib/worker/message.h"

namespace feedrate {

ChildSubject::ChildSubject(MeasuredChild* child, double clock_pair_s,
                           EnergyMeter* energy, SpeedWatch* speed,
                           const std::string& worker)
    : child_(child),
      clock_pair_s_(clock_pair_s),
      energy_(energy),
      speed_(speed),
      worker_(worker),
      cycles_(static_cast<pid_t>(child->pid())) {}

absl::StatusOr<TimeReply> ChildSubject::Time(const TimeRequest& request) {
  TimeCommand command;
  command.set_first(request.first);
  command.set_count(request.count);
  command.set_chunk(request.chunk);
  command.set_limit_s(request.limit_s);
  command.set_seed(request.seed);
  if (request.cold) command.set_cold(true);
  ASSIGN_OR_RETURN(TimeReply reply,
                   child_->Time(command, absl::Seconds(request.hang_s)));
  if (speed_ != nullptr) speed_->Note(worker_, reply);
  return reply;
}

NoiseCounters ChildSubject::Count() {
  NoiseCounters counters;
  counters.process =
      ReadProcessCounters(root_, static_cast<pid_t>(child_->pid()));
  counters.processors = ReadProcessorCounters(root_);
  counters.cycles = cycles_.Read();
  counters.throttled_periods = ReadCgroup(root_).throttled_periods;
  counters.now_s = std::chrono::duration<double>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
  if (energy_ != nullptr) counters.energy = energy_->Read();
  return counters;
}

namespace {

using Clock = std::chrono::steady_clock;

// The shortest time between two readings.
constexpr auto kInterval = std::chrono::milliseconds(50);
// A reading of n ms is followed by a pause of this many times n.
constexpr int kRest = 100;

}  // namespace

TreeWatch::TreeWatch(pid_t parent, pid_t pid, double first_s)
    : parent_(parent),
      pid_(pid),
      first_s_(first_s),
      thread_([this] { Run(); }) {}

TreeWatch::~TreeWatch() { Stop(); }

void TreeWatch::Look() {
  // "corpus" is part of the name of shared images.
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
    // Short epochs end before the first reading; this one costs them nothing.
    if (!peak_bytes_.has_value()) Look();
  }
  return peak_bytes_;
}

namespace {

// From this share on, pages count as all in memory.
constexpr double kWarmShare = 0.99;
constexpr double kColdShare = 0.01;
// The largest number of files to check.
constexpr size_t kFilesLookedAt = 2000;

std::vector<std::string> Some(const std::vector<std::string>& paths) {
  if (paths.size() <= kFilesLookedAt) return paths;
  std::vector<std::string> some;
  for (size_t i = 0; i < kFilesLookedAt; ++i) {
    some.push_back(paths[i * paths.size() / kFilesLookedAt]);
  }
  return some;
}

}  // namespace

absl::Status LookAtPages(const std::vector<std::string>& paths, bool cold,
                         Cache* cache) {
  if (cold) RETURN_IF_ERROR(DropPages(paths));
  ASSIGN_OR_RETURN(const double fraction, ResidentFraction(Some(paths)));
  cache->set_resident_fraction(std::max(cache->resident_fraction(), fraction));
  return absl::OkStatus();
}

void SetCache(const Cache& cache, bool cold, Row* row) {
  *row->mutable_cache() = cache;
  const double resident = cache.resident_fraction();
  if (cold && resident <= kColdShare) {
    row->add_labels("cold");
  } else if (cold || resident < kWarmShare) {
    row->add_labels("partly_cold");
  }
}

std::optional<double> TransferRate(const StorageCounts& counts) {
  if (counts.bytes() == 0 || counts.busy_s() <= 0) return std::nullopt;
  return static_cast<double>(counts.bytes()) / counts.busy_s() / 1e6;
}

void SetTransfers(const StorageCounts& counts, const std::string& url,
                  int connections, Row* row) {
  Storage* const storage = row->mutable_storage();
  storage->set_scheme(url.substr(0, url.find(':')));
  storage->set_connections(connections);
  AddSameFields(counts, storage);
  const int64_t lookups = counts.cache_hits() + counts.cache_misses();
  if (lookups > 0) {
    storage->set_cache_hit_rate(static_cast<double>(counts.cache_hits()) /
                                static_cast<double>(lookups));
  }
  const std::optional<double> rate = TransferRate(counts);
  if (rate.has_value()) storage->set_download_mb_per_s(*rate);
}

}  // namespace feedrate
