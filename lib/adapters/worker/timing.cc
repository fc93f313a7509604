#include "lib/adapters/worker/timing.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/records/worker.pb.h"

namespace feedrate {

TimeReply TimeOnDevice(const TimingPlan& plan, bool cold,
                       PreparedTransform* transform,
                       const ReadClock& read_clock) {
  DeviceProbe* const probe = transform->device();
  TimeReply reply;
  DeviceReply& device = *reply.mutable_device();
  probe->ResetPeaks();
  const int64_t cpu_frames = transform->CpuFrames();
  const int64_t start = MonotonicNs();
  int64_t item = plan.first % plan.num_items;
  while (reply.items() < plan.count) {
    const int64_t calls = std::min(plan.chunk, plan.count - reply.items());
    if (cold) probe->Flush();
    probe->Begin();
    transform->RunChunk(item, calls, plan.num_items);
    reply.add_samples_s(probe->End());
    const std::optional<GpuClock::Reading> clock =
        read_clock == nullptr ? std::nullopt : read_clock();
    if (clock.has_value()) {
      device.add_clocks_mhz(clock->mhz);
      device.set_throttle_reasons(device.throttle_reasons() |
                                  clock->throttle_reasons);
      if (clock->memory_mhz) {
        device.add_memory_clocks_mhz(*clock->memory_mhz);
      }
      if (clock->temperature_c) {
        device.set_temperature_c(
            std::max(device.temperature_c(), *clock->temperature_c));
      }
      if (clock->power_limit_w) {
        device.set_power_limit_w(*clock->power_limit_w);
      }
    }
    for (int64_t i = 0; i < calls; ++i) {
      const DeviceBytes bytes = transform->BytesOf((item + i) % plan.num_items);
      device.set_bytes_in(device.bytes_in() + bytes.in);
      device.set_bytes_out(device.bytes_out() + bytes.out);
    }
    reply.set_items(reply.items() + calls);
    item = (item + calls) % plan.num_items;
    if (MonotonicNs() - start > plan.limit_ns) break;
  }
  // A clock that answers only sometimes says nothing about the other samples.
  if (device.clocks_mhz_size() != reply.samples_s_size()) {
    device.clear_clocks_mhz();
  }
  if (device.memory_clocks_mhz_size() != reply.samples_s_size()) {
    device.clear_memory_clocks_mhz();
  }
  const DeviceProbe::Memory peaks = probe->Peaks();
  device.set_peak_allocated_bytes(peaks.peak_allocated_bytes);
  device.set_peak_reserved_bytes(peaks.peak_reserved_bytes);
  const int64_t left = transform->CpuFrames() - cpu_frames;
  if (left > 0) device.set_cpu_frames(left);
  return reply;
}

std::optional<double> WaitedSeconds() {
  std::ifstream file("/proc/thread-self/schedstat");
  int64_t ran_ns, waited_ns;
  if (!(file >> ran_ns >> waited_ns)) return std::nullopt;
  return waited_ns * 1e-9;
}

double HostProbe::CopyBytesPerSecond() {
  constexpr size_t kBytes = size_t{8} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  int64_t least = MonotonicNs();
  for (int pass = 0; pass < 3; ++pass) {
    const int64_t begin = MonotonicNs();
    std::memcpy(to.data(), from.data(), kBytes);
    // Keeps the compiler from removing the copy.
    asm volatile("" : : "r"(to.data()) : "memory");
    least = std::min(least, MonotonicNs() - begin);
  }
  return 2.0 * kBytes /
         (static_cast<double>(std::max<int64_t>(least, 1)) * 1e-9);
}

namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6;
}

// CPU time of all threads, and of children that were waited for.
double ProcessorSeconds() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used = {};
    getrusage(who, &used);
    total += Seconds(used.ru_utime) + Seconds(used.ru_stime);
  }
  return total;
}

double SecondsSince(int64_t start_ns) {
  return (MonotonicNs() - start_ns) * 1e-9;
}

// Seconds that it took.
double PlayTrainingStep(double step_s) {
  const int64_t start = MonotonicNs();
  const int64_t end = start + static_cast<int64_t>(step_s * 1e9);
  const timespec until = {end / 1000000000, end % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) ==
         EINTR) {
  }
  return SecondsSince(start);
}

void AddIds(const std::vector<std::optional<int64_t>>& ids, EpochReply* reply) {
  BatchCounts* const batch = reply->add_ids();
  for (const std::optional<int64_t>& id : ids) {
    if (id.has_value()) {
      batch->add_list(*id);
    } else {
      reply->set_unreadable(reply->unreadable() + 1);
    }
  }
}

absl::Status TakeBatches(const EpochCommand& command, int64_t start,
                         BatchStream* stream, EpochReply* reply) {
  static const InjectedSlowdown slowdown;
  // The first batch was requested when the epoch began.
  int64_t asked = start;
  while (true) {
    ASSIGN_OR_RETURN(const BatchStream::Batch batch, stream->Next());
    if (batch.items == 0) return absl::OkStatus();
    slowdown.Burn(SecondsSince(asked));
    reply->add_samples_s(SecondsSince(asked));
    if (reply->batches() == 0) reply->set_first_batch_s(SecondsSince(start));
    reply->set_batches(reply->batches() + 1);
    reply->set_items(reply->items() + batch.items);
    reply->set_bytes_out(reply->bytes_out() + batch.bytes);
    if (!batch.ids.empty()) AddIds(batch.ids, reply);
    if (reply->batches() == command.batches()) return absl::OkStatus();
    if (command.consumer_s() > 0) {
      reply->set_consumer_s(reply->consumer_s() +
                            PlayTrainingStep(command.consumer_s()));
    }
    if (command.limit_s() > 0 && SecondsSince(start) > command.limit_s()) {
      return absl::OkStatus();
    }
    asked = MonotonicNs();
  }
}

}  // namespace

std::string EpochPosition::ToText() const {
  return absl::StrCat(seed, " ", epoch, " ", done);
}

absl::StatusOr<EpochPosition> BeginOf(const EpochCommand& command) {
  EpochPosition begin{command.seed(), command.epoch(), 0};
  if (command.state().empty()) return begin;
  const std::vector<std::string> words = absl::StrSplit(command.state(), ' ');
  if (words.size() == 3 && absl::SimpleAtoi(words[0], &begin.seed) &&
      absl::SimpleAtoi(words[1], &begin.epoch) &&
      absl::SimpleAtoi(words[2], &begin.done) && begin.done >= 0) {
    return begin;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "state \"", command.state(), "\" is not SEED EPOCH SAMPLES"));
}

absl::StatusOr<EpochReply> TimeEpoch(const EpochCommand& command,
                                     const StartEpoch& start_epoch) {
  EpochReply reply;
  const double cpu = ProcessorSeconds();
  const int64_t start = MonotonicNs();
  ASSIGN_OR_RETURN(std::unique_ptr<BatchStream> stream, start_epoch());
  reply.set_startup_s(SecondsSince(start));
  RETURN_IF_ERROR(TakeBatches(command, start, stream.get(), &reply));
  const int64_t end_of_batches = MonotonicNs();
  RETURN_IF_ERROR(stream->Finish(&reply));
  stream = nullptr;
  reply.set_teardown_s(SecondsSince(end_of_batches));
  reply.set_elapsed_s(SecondsSince(start));
  reply.set_cpu_s(std::max(0.0, ProcessorSeconds() - cpu));
  return reply;
}

}  // namespace feedrate
