#include "lib/gate/gate_metrics.h"

#include <cmath>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/gate/stored_runs.h"

namespace feedrate {
namespace {

using Value = absl::optional<double>;

// Runs of different lengths are compared by what an item needs.
Value PerItem(const Row& row, double value) {
  return row.items() > 0 ? value / static_cast<double>(row.items()) : value;
}

Value RssPeak(const Row& row) {
  if (!row.has_rss_peak_bytes()) return absl::nullopt;
  return static_cast<double>(row.rss_peak_bytes());
}

Value CpuSeconds(const Row& row) {
  if (row.usage().has_cpu_s()) return PerItem(row, row.usage().cpu_s());
  if (row.has_loader()) return PerItem(row, row.loader().cpu_s());
  if (row.has_mixture()) return PerItem(row, row.mixture().cpu_s());
  return absl::nullopt;
}

Value PageFaults(const Row& row) {
  if (!row.usage().has_page_faults()) return absl::nullopt;
  return PerItem(row, row.usage().page_faults());
}

Value BytesRead(const Row& row) {
  if (row.usage().has_read_bytes()) {
    return PerItem(row, row.usage().read_bytes());
  }
  if (row.has_storage()) return PerItem(row, row.storage().bytes());
  return absl::nullopt;
}

Value BytesWritten(const Row& row) {
  if (!row.usage().has_written_bytes()) return absl::nullopt;
  return PerItem(row, row.usage().written_bytes());
}

Value Instructions(const Row& row) {
  if (!row.usage().has_instructions()) return absl::nullopt;
  return PerItem(row, row.usage().instructions());
}

Value Allocations(const Row& row) {
  if (!row.usage().has_allocations()) return absl::nullopt;
  return PerItem(row, row.usage().allocations());
}

Value AllocatedBytes(const Row& row) {
  if (!row.usage().has_allocated_bytes()) return absl::nullopt;
  return PerItem(row, row.usage().allocated_bytes());
}

Value GpuMemoryPeak(const Row& row) {
  if (!row.has_gpu_memory()) return absl::nullopt;
  return static_cast<double>(row.gpu_memory().peak_allocated_bytes());
}

Value Joules(const Row& row) {
  const Energy& energy = row.energy();
  if (!energy.has_cpu_j() && !energy.has_gpu_j()) return absl::nullopt;
  // A short run does not tell what its GPU used, and a longer one does.
  if (!energy.has_gpu_j() && row.device() == "cuda" &&
      row.hardware_class() != "host_cpu") {
    return absl::nullopt;
  }
  return PerItem(row, energy.cpu_j() + energy.gpu_j());
}

constexpr char kTime[] = "time";

}  // namespace

const char kDefaultGateMetrics[] = "time,memory,cpu";

const std::vector<GateMetric>& NamedGateMetrics() {
  static const auto* metrics = new std::vector<GateMetric>{
      {"memory", "B", 5, false, 1 << 20, "rss_peak_bytes", RssPeak},
      {"cpu", "s", 5, false, 1e-6,
       "usage.cpu_s, loader.cpu_s or mixture.cpu_s; duel adds it to plain "
       "commands",
       CpuSeconds},
      {"page_faults", "", 10, false, 1,
       "usage.page_faults; duel adds it to plain commands", PageFaults},
      {"bytes_read", "B", 5, false, 1,
       "usage.read_bytes or storage.bytes; duel adds it to plain commands",
       BytesRead},
      {"bytes_written", "B", 5, false, 1,
       "usage.written_bytes; duel adds it to plain commands", BytesWritten},
      {"instructions", "", 1, false, 1,
       "usage.instructions; duel adds it to plain commands where perf has "
       "hardware counters, which most virtual machines do not",
       Instructions},
      {"allocations", "", 1, false, 1e-6,
       "usage.allocations; duel adds it to plain commands if its --metrics "
       "names it",
       Allocations},
      {"allocated_bytes", "B", 5, false, 1e-6,
       "usage.allocated_bytes; duel adds it to plain commands if its --metrics "
       "names it",
       AllocatedBytes},
      {"gpu_memory", "B", 5, false, 1 << 20,
       "gpu_memory.peak_allocated_bytes; runners write it on a GPU",
       GpuMemoryPeak},
      {"energy", "J", 5, false, 1e-9,
       "energy.cpu_j or energy.gpu_j; RAPL's counters are for root, and most "
       "virtual machines have none",
       Joules},
  };
  return *metrics;
}

bool NeedsAllocationCounter(const MetricChoice& choice) {
  for (const GateMetric& metric : choice.metrics) {
    const absl::string_view name = absl::StripPrefix(metric.name, "usage.");
    if (name == "allocations" || name == "allocated_bytes") return true;
  }
  return false;
}

MetricChoice DefaultMetricChoice() {
  return *ParseMetricChoice(kDefaultGateMetrics);
}

absl::StatusOr<MetricChoice> ParseMetricChoice(const std::string& text) {
  MetricChoice choice;
  choice.has_time = false;
  std::set<std::string> seen;
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "--metrics: name what to judge, such as time,memory");
  }
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> words = absl::StrSplit(part, ':');
    const std::string& name = words[0];
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--metrics: ", name, " is there twice"));
    }
    if (name == kTime) {
      if (words.size() > 1) {
        return absl::InvalidArgumentError(
            "--metrics: the smallest change of interest of time is --interest");
      }
      choice.has_time = true;
      continue;
    }
    GateMetric metric;
    std::vector<std::string> known = {kTime};
    for (const GateMetric& named : NamedGateMetrics()) {
      known.push_back(named.name);
      if (named.name == name) metric = named;
    }
    if (metric.name.empty()) {
      // A name with a dot is a field; others could also be misspelled.
      const std::vector<std::string>& fields = MetricNames();
      known.insert(known.end(), fields.begin(), fields.end());
      RETURN_IF_ERROR(CheckChoice("--metrics", name, known));
      metric.name = name;
      metric.source = "the field of that name";
    }
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "higher" || words[i] == "lower") {
        metric.higher_is_better = words[i] == "higher";
      } else if (!absl::SimpleAtod(words[i], &metric.interest_percent) ||
                 !(metric.interest_percent > 0 &&
                   metric.interest_percent <= 100)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--metrics: \"", part,
            "\" is not NAME[:PERCENT][:higher|lower] such as memory:10"));
      }
    }
    choice.metrics.push_back(std::move(metric));
  }
  return choice;
}

absl::optional<double> MetricOf(const Row& row, const GateMetric& metric) {
  if (row.status() != "ok") return absl::nullopt;
  Value value;
  if (metric.read != nullptr) {
    value = metric.read(row);
  } else {
    const RunValues values = ValuesOfRows({row});
    const auto found = values.find(metric.name);
    if (found != values.end()) value = found->second[0];
  }
  if (!value || !std::isfinite(*value) || *value < 0) return absl::nullopt;
  return value;
}

std::string MetricText(double value, const std::string& unit) {
  if (unit == "B") {
    if (value >= 1e9) return absl::StrFormat("%.3f GB", value / 1e9);
    if (value >= 1e6) return absl::StrFormat("%.2f MB", value / 1e6);
    if (value >= 1e3) return absl::StrFormat("%.2f kB", value / 1e3);
  }
  if (unit == "s" && value < 1) return absl::StrFormat("%.4g ms", value * 1e3);
  const std::string number = value < 1e9 && value == std::floor(value)
                                 ? absl::StrFormat("%.0f", value)
                                 : absl::StrFormat("%.5g", value);
  return unit.empty() ? number : absl::StrCat(number, " ", unit);
}

}  // namespace feedrate
