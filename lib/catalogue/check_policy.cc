#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/check_catalogue.h"

namespace feedrate {
namespace {

using Names = std::vector<std::string>;
using View = absl::string_view;

absl::Status CheckMedia(const Policy& policy, const std::string& file) {
  Checker check(file);
  absl::flat_hash_set<View> seen;
  for (int i = 0; i < policy.media_size(); ++i) {
    const MediaPolicy& m = policy.media(i);
    check.Enter("media", i, m.media());
    check.OneOf("media", m.media(), KnownMedia());
    check.That(seen.insert(m.media()).second, "this media is there twice");
    check.That(m.has_slow_skip(), "slow_skip is missing");
    check.That(m.slow_threshold_s() > 0, "slow_threshold_s must be above 0");
    check.That(m.preflight_items() >= 1, "preflight_items must be at least 1");
    check.That(m.preflight_passes() >= 1,
               "preflight_passes must be at least 1");
    check.That(m.max_preflight_s() > 0, "max_preflight_s must be above 0");
    check.Present("slow_marker", m.slow_marker());
  }
  check.Enter("", 0, "");
  check.That(seen.contains("image") && seen.contains("clip"),
             "media needs an entry each for image and clip");
  return check.status();
}

absl::Status CheckThreads(const Policy& policy, const std::string& file) {
  Checker check(file);
  absl::flat_hash_set<View> seen;
  for (int i = 0; i < policy.threads_size(); ++i) {
    const ThreadPolicy& t = policy.threads(i);
    check.Enter("threads", i, t.name());
    check.Present("name", t.name());
    check.That(seen.insert(t.name()).second, "this name is taken");
    check.That(t.modes_size() > 0, "no modes");
    check.EachOneOf("mode", t.modes(), KnownModes());
  }
  return check.status();
}

// The thread policies that `mode` may use.
Names ThreadPoliciesOf(const Policy& policy, View mode) {
  Names names;
  for (const ThreadPolicy& t : policy.threads()) {
    for (const std::string& m : t.modes()) {
      if (m == mode) names.push_back(t.name());
    }
  }
  return names;
}

absl::Status CheckModes(const Policy& policy, const std::string& file) {
  Checker check(file);
  check.That(policy.modes_size() > 0, "no modes");
  absl::flat_hash_set<std::pair<View, View>> seen;
  for (int i = 0; i < policy.modes_size() && check.ok(); ++i) {
    const ModePolicy& m = policy.modes(i);
    const std::string name = absl::StrJoin({m.mode(), m.media()}, ", ");
    check.Enter("modes", i, name);
    check.OneOf("mode", m.mode(), KnownModes());
    check.OneOf("media", m.media(), KnownMedia());
    check.That(seen.insert({m.mode(), m.media()}).second,
               "this mode and media are there twice");
    check.That(m.default_num_items() >= 0,
               "default_num_items must be at least 0");
    check.That(m.default_batch_size() >= 0,
               "default_batch_size must be at least 0");
    check.Present("tool", m.tool());
    check.OneOf("default_scope", m.default_scope(),
                Names(m.scopes().begin(), m.scopes().end()));
    check.OneOf("default_thread_policy", m.default_thread_policy(),
                ThreadPoliciesOf(policy, m.mode()));
    for (const MainBatchSize& b : m.main_batch_sizes()) {
      check.Present("scenario of main_batch_sizes", b.scenario());
      check.That(b.batch_size() >= 1, "batch_size must be at least 1");
    }
  }
  return check.status();
}

absl::Status CheckCost(const Policy& policy, const std::string& file) {
  Checker check(file);
  const CostPolicy& cost = policy.cost();
  check.That(cost.has_job_overhead_s() && cost.job_overhead_s() >= 0,
             "cost.job_overhead_s must be there and at least 0");
  check.That(cost.passes_per_run() > 0, "cost.passes_per_run must be above 0");
  absl::flat_hash_set<std::tuple<View, View, View, View>> seen;
  for (int i = 0; i < cost.default_throughput_size() && check.ok(); ++i) {
    const DefaultThroughput& d = cost.default_throughput(i);
    const std::string name =
        absl::StrJoin({d.media(), d.mode(), d.device()}, ", ");
    check.Enter("cost.default_throughput", i, name);
    check.OneOf("media", d.media(), KnownMedia());
    check.OneOf("mode", d.mode(), KnownModes());
    check.OneOf("device", d.device(), KnownDevices());
    check.That(d.items_per_s() > 0, "items_per_s must be above 0");
    check.That(seen.insert({d.media(), d.mode(), d.device(), d.model()}).second,
               "this entry is there twice");
  }
  return check.status();
}

absl::Status CheckCampaign(const Policy& policy, const std::string& file) {
  Checker check(file);
  for (int i = 0; i < policy.timeouts_size(); ++i) {
    const Timeout& t = policy.timeouts(i);
    check.Enter("timeouts", i, t.step());
    check.Present("step", t.step());
    check.That(t.seconds() > 0, "seconds must be above 0");
  }
  for (int i = 0; i < policy.paper_order_size(); ++i) {
    const PaperStep& p = policy.paper_order(i);
    check.Enter("paper_order", i, p.scenario());
    check.Present("scenario", p.scenario());
    if (p.has_mode()) check.OneOf("mode", p.mode(), KnownModes());
  }
  for (int i = 0; i < policy.pinned_versions_size(); ++i) {
    const PinnedVersion& v = policy.pinned_versions(i);
    check.Enter("pinned_versions", i, v.package());
    check.Present("package", v.package());
    check.Present("version", v.version());
  }
  if (!policy.has_campaign()) return check.status();
  const CampaignPolicy& c = policy.campaign();
  check.That(c.task_s() > 0, "campaign.task_s must be above 0");
  check.That(c.time_margin() >= 1, "campaign.time_margin must be at least 1");
  check.That(c.task_setup_s() >= 0, "campaign.task_setup_s must be at least 0");
  check.That(c.checkpoint_s() > 0, "campaign.checkpoint_s must be above 0");
  check.That(c.array_limit() >= 1, "campaign.array_limit must be at least 1");
  check.That(c.channel_bytes() > 0 && c.gpus_per_node() > 0 &&
                 c.mixture_cpus() > 0 && c.mixture_datasets() > 0,
             "campaign.channel_bytes, gpus_per_node, mixture_cpus and "
             "mixture_datasets must be above 0");
  return check.status();
}

absl::Status CheckRunsAndLoader(const Policy& policy, const std::string& file) {
  Checker check(file);
  check.That(policy.runs().default_num_runs() >= 1,
             "runs.default_num_runs must be at least 1");
  check.That(policy.loader().default_workers() >= 0,
             "loader.default_workers must be at least 0");
  check.That(policy.loader().micro_workers() >= 0,
             "loader.micro_workers must be at least 0");
  check.That(policy.timing().min_time_s() >= 0,
             "timing.min_time_s must be at least 0");
  check.That(policy.timing().min_batches() >= 1,
             "timing.min_batches must be at least 1");
  return check.status();
}

absl::Status CheckCoverage(const Policy& policy, const std::string& file) {
  Checker check(file);
  if (!policy.has_coverage()) return check.status();
  const CoveragePolicy& coverage = policy.coverage();
  check.That(coverage.copy_slack() >= 1,
             "coverage.copy_slack must be at least 1");
  check.That(coverage.pipeline_crop() >= 1,
             "coverage.pipeline_crop must be at least 1");
  check.That(coverage.limit_slack() >= 1,
             "coverage.limit_slack must be at least 1");
  check.That(coverage.video_over_image() > 0,
             "coverage.video_over_image must be above 0");
  check.That(coverage.identical_alone_rows() >= 0,
             "coverage.identical_alone_rows must be at least 0");
  return check.status();
}

absl::Status CheckMeasuring(const Policy& policy, const std::string& file) {
  Checker check(file);
  if (!policy.has_measuring()) return check.status();
  const MeasuringPolicy& measuring = policy.measuring();
  check.That(measuring.chunk_below_s() >= 0,
             "measuring.chunk_below_s must be at least 0");
  check.That(
      measuring.max_clock_share() > 0 && measuring.max_clock_share() <= 1,
      "measuring.max_clock_share must be above 0 and at most 1");
  check.That(measuring.import_limit_s() > 0,
             "measuring.import_limit_s must be above 0");
  check.That(measuring.prepare_limit_s() > 0,
             "measuring.prepare_limit_s must be above 0");
  check.That(measuring.hang_s() > 0, "measuring.hang_s must be above 0");
  check.That(measuring.contended_share() > 0 && measuring.noisy_share() > 0 &&
                 measuring.others_share() > 0,
             "measuring: contended_share, noisy_share and others_share must "
             "be above 0");
  check.That(measuring.multithreaded_cores() >= 1,
             "measuring.multithreaded_cores must be at least 1");
  check.That(measuring.throttled_clock() <= 1,
             "measuring.throttled_clock must be at most 1");
  check.That(measuring.max_attempts() >= 1,
             "measuring.max_attempts must be at least 1");
  check.That(measuring.repeat_budget() >= 0,
             "measuring.repeat_budget must be at least 0");
  check.That(measuring.quiet_share() >= 0 && measuring.stable_within() >= 0,
             "measuring: quiet_share and stable_within must be at least 0");
  check.That(measuring.slow_core() > 0, "measuring: slow_core must be above 0");
  check.That(measuring.compared_items() >= 1,
             "measuring.compared_items must be at least 1");
  const GpuMeasuringPolicy& gpu = measuring.gpu();
  check.That(gpu.calls_per_sample() >= 1 && gpu.min_samples() >= 1,
             "measuring.gpu: calls_per_sample and min_samples must be at least "
             "1");
  check.That(
      gpu.clock_within() > 0 && gpu.max_warm_up_s() > 0 && gpu.sample_s() > 0,
      "measuring.gpu: clock_within, max_warm_up_s and sample_s must be above "
      "0");
  check.That(gpu.slow_clock() > 0 && gpu.slow_clock() <= 1,
             "measuring.gpu.slow_clock must be above 0 and at most 1");
  return check.status();
}

}  // namespace

absl::Status CheckPolicy(const Policy& policy, const std::string& file) {
  RETURN_IF_ERROR(CheckMedia(policy, file));
  RETURN_IF_ERROR(CheckThreads(policy, file));
  RETURN_IF_ERROR(CheckModes(policy, file));
  RETURN_IF_ERROR(CheckRunsAndLoader(policy, file));
  RETURN_IF_ERROR(CheckCost(policy, file));
  RETURN_IF_ERROR(CheckCoverage(policy, file));
  RETURN_IF_ERROR(CheckMeasuring(policy, file));
  return CheckCampaign(policy, file);
}

}  // namespace feedrate
