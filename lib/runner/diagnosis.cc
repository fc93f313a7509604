#include "lib/runner/diagnosis.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// From here on the accelerator, and not the loader, is what one waits for.
constexpr double kConsumerBinds = 0.9;

// A part of an item's time, in seconds.
struct Part {
  std::string verdict;
  double cost_s = 0;
  std::string measured;
};

double ThroughputOf(const std::vector<LoaderAblation>& ablations,
                    absl::string_view name) {
  for (const LoaderAblation& ablation : ablations) {
    if (ablation.name() == name) return ablation.throughput();
  }
  return 0;
}

double BusyOf(const LoaderStats& loader, absl::string_view name) {
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == name) return stage.busy_s();
  }
  return 0;
}

std::string Against(absl::string_view what, double without, double with) {
  return absl::StrFormat("%s %.0f items/s against %.0f", what, without, with);
}

std::vector<Part> PartsOf(const LoaderSpec& spec, double throughput,
                          const std::vector<LoaderAblation>& ablations,
                          const LoaderStats& loader) {
  const double item_s = 1 / throughput;
  std::vector<Part> parts;
  const double no_decode = ThroughputOf(ablations, "no_decode");
  if (no_decode > 0) {
    const bool reads = BusyOf(loader, "read") > BusyOf(loader, "decode");
    parts.push_back({reads ? "reading" : "decoding",
                     std::max(0.0, item_s - 1 / no_decode),
                     Against("without decoding", no_decode, throughput)});
  }
  const double no_augment = ThroughputOf(ablations, "no_augment");
  if (no_augment > 0) {
    parts.push_back({"augmenting", std::max(0.0, item_s - 1 / no_augment),
                     Against("without augmenting", no_augment, throughput)});
  }
  const double cached = ThroughputOf(ablations, "cached_batch");
  if (cached > 0) {
    const bool copies = spec.scope == kCopyScope &&
                        BusyOf(loader, "copy") > BusyOf(loader, "collate");
    parts.push_back({copies ? "copying" : "collating",
                     std::min(item_s, 1 / cached),
                     Against("the same batch again", cached, throughput)});
  }
  return parts;
}

LoaderDiagnosis ConsumerBinds(double utilisation) {
  LoaderDiagnosis diagnosis;
  diagnosis.set_verdict("consumer");
  diagnosis.set_explanation(absl::StrFormat(
      "the training step is busy %.1f%% of the time; a faster loader would not "
      "be felt",
      100 * utilisation));
  // Half the step, nothing else shorter.
  diagnosis.set_twice_as_fast_gain(1 / (1 - utilisation / 2));
  return diagnosis;
}

}  // namespace

LoaderDiagnosis Diagnose(const LoaderSpec& spec, double throughput,
                         const std::vector<LoaderAblation>& ablations,
                         const LoaderStats& loader) {
  LoaderDiagnosis diagnosis;
  if (loader.consumer_utilisation() >= kConsumerBinds) {
    diagnosis = ConsumerBinds(loader.consumer_utilisation());
  } else if (throughput > 0) {
    const std::vector<Part> parts =
        PartsOf(spec, throughput, ablations, loader);
    const auto largest = std::max_element(
        parts.begin(), parts.end(),
        [](const Part& a, const Part& b) { return a.cost_s < b.cost_s; });
    if (largest != parts.end()) {
      const double share = largest->cost_s * throughput;
      diagnosis.set_verdict(largest->verdict);
      diagnosis.set_twice_as_fast_gain(1 / (1 - share / 2));
      diagnosis.set_explanation(absl::StrFormat(
          "%s takes %.0f%% of the time (%s); twice as fast would give %.2fx",
          largest->verdict, 100 * share, largest->measured,
          diagnosis.twice_as_fast_gain()));
    }
  }
  for (const LoaderAblation& ablation : ablations) {
    *diagnosis.add_ablations() = ablation;
  }
  return diagnosis;
}

}  // namespace feedrate
