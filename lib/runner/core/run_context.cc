#include "lib/runner/core/run_context.h"

#include "absl/strings/str_format.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job.pb.h"
#include "lib/runner/core/job_mode.h"

namespace feedrate {
namespace {

constexpr const char* kNames[] = {"import",      "media",     "prepare",
                                  "equivalence", "preflight", "warm-up",
                                  "timed"};

}  // namespace

TimeAccount::Entry::Entry(TimeAccount* account, Spending spending)
    : account_(account), spending_(spending) {}

TimeAccount::Entry::~Entry() {
  account_->seconds_[static_cast<int>(spending_)] += watch_.Seconds();
}

double TimeAccount::Seconds(Spending spending) const {
  return seconds_[static_cast<int>(spending)];
}

double TimeAccount::Total() const { return watch_.Seconds(); }

double TimeAccount::MeasuredShare() const {
  return (Seconds(Spending::kImport) + Seconds(Spending::kPreflight) +
          Seconds(Spending::kWarmUp) + Seconds(Spending::kTimed)) /
         Total();
}

std::string TimeAccount::Text() const {
  const double total = Total();
  double rest = total;
  std::string text = absl::StrFormat("%.2f s: ", total);
  for (int i = 0; i < kSpendings; ++i) {
    rest -= seconds_[i];
    absl::StrAppendFormat(&text, "%s %.1f%%, ", kNames[i],
                          100 * seconds_[i] / total);
  }
  absl::StrAppendFormat(&text, "harness %.1f%%", 100 * rest / total);
  return text;
}

void EngineSpeeds::Note(int fd, int sessions, double clips_per_s) {
  if (clips_per_s > 0) known_[{fd, sessions}] = clips_per_s;
}

double EngineSpeeds::Get(int fd, int sessions) const {
  const auto known = known_.find({fd, sessions});
  return known == known_.end() ? 0 : known->second;
}

EnergyMeter* EnergyOf(const RunContext& context, const Job& job) {
  const bool on_gpu =
      job.device() == "cuda" && job.hardware_class() != "host_cpu";
  return on_gpu ? context.gpu_energy : context.cpu_energy;
}

absl::Duration PrepareLimit(const RunContext& context) {
  return absl::Seconds(
      context.limits.hang_s > 0
          ? context.limits.hang_s
          : context.catalogue.policy().measuring().prepare_limit_s());
}

double StableWithin(const RunContext& context) {
  return context.limits.stable_within >= 0
             ? context.limits.stable_within
             : context.catalogue.policy().measuring().stable_within();
}

JobMode* FindMode(const std::vector<std::shared_ptr<JobMode>>& modes,
                  const Job& job) {
  for (const std::shared_ptr<JobMode>& mode : modes) {
    if (mode->Covers(job)) return mode.get();
  }
  return nullptr;
}

}  // namespace feedrate
