#include "lib/planning/needs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

// What "all items" is taken for where nobody has counted yet.
constexpr int64_t kAllItems = 50000;
// Batches are float32.
constexpr double kBatchValueBytes = 4;
// Channels of a decoded file, whatever the scenario makes of them.
constexpr int kFileChannels = 3;
// Frames of a sample of a mixture.
constexpr int kMixtureFrames = 2;

// Less would be shown as "0.0 GB".
constexpr int64_t kShownBytes = 50000000;

// More than any machine has, and far from what overflows: 65,536 workers and
// 1 PiB of memory.
constexpr int kMostWorkers = 1 << 16;
constexpr double kMostMemoryBytes = 1024.0 * (int64_t{1} << 40);

// A whole number that the planner has checked already, or `standard`.
int SettingOf(const Job& job, const std::string& name, int standard) {
  const auto found = job.settings().find(name);
  int value = standard;
  if (found != job.settings().end() &&
      !absl::SimpleAtoi(found->second, &value)) {
    value = standard;
  }
  return value;
}

std::string Gigabytes(int64_t bytes) {
  return absl::StrFormat("%.1f GB", bytes / 1e9);
}

// Bytes per value and name of the form in which the job's library gets items.
std::pair<int, std::string> FormOf(const Job& job, const Scenario& scenario,
                                   const Catalogue& catalogue) {
  const InputLayout* const layout =
      catalogue.FindInputLayout(job.library(), scenario.media(), job.mode());
  if (layout == nullptr) return {1, "uint8"};
  const int bytes = layout->dtype() == "float32"   ? 4
                    : layout->dtype() == "float16" ? 2
                                                   : 1;
  // Rows of pixels are what PIL images are made from.
  const bool planes = layout->layout() == "CHW" || layout->layout() == "TCHW";
  return {bytes, absl::StrCat(layout->dtype(), planes ? " in planes" : "")};
}

// In bytes; doubles, because a sum may be too large for an int64_t.
struct Memory {
  double process = 0;
  double decoded = 0;
  double form = 0;
};

Memory MemoryOfItems(const Job& job, const Scenario& scenario,
                     const Catalogue& catalogue, int workers) {
  const Policy& policy = catalogue.policy();
  const CampaignPolicy& campaign = policy.campaign();
  Memory memory;
  memory.process = static_cast<double>(campaign.base_memory_bytes());
  const double frames = std::max(1, scenario.clip_length());
  const double channel = static_cast<double>(campaign.channel_bytes()) * frames;
  // Items of a batch are cropped.
  const double crop = policy.coverage().pipeline_crop();
  const double batch = static_cast<double>(std::max(1, job.batch_size())) *
                       crop * crop * frames * scenario.channels() *
                       kBatchValueBytes;
  if (job.mode() == "train") {
    memory.process +=
        batch * (1.0 + 1.0 * workers * policy.loader().prefetch_factor());
    return memory;
  }
  if (job.mode() == "mixture") {
    const double frame = SettingOf(job, "frame_size", 224);
    const double sample = kMixtureFrames * kFileChannels * frame * frame;
    memory.process +=
        sample * (static_cast<double>(job.batch_size()) *
                      SettingOf(job, "queue_depth", 1) +
                  static_cast<double>(SettingOf(job, "shuffle_buffer", 1)) *
                      campaign.mixture_datasets());
    return memory;
  }
  if (job.mode() == "pipeline") {
    memory.process +=
        batch * (1.0 + 1.0 * workers * policy.loader().prefetch_factor());
  }
  // What decodes holds batches, not the data set.
  if (job.scope().find("decode") != std::string::npos) return memory;
  const double items =
      static_cast<double>(job.num_items() > 0 ? job.num_items() : kAllItems);
  const auto [value_bytes, name] = FormOf(job, scenario, catalogue);
  memory.decoded = items * channel * kFileChannels;
  const bool as_decoded =
      name == "uint8" && scenario.channels() == kFileChannels;
  if (!as_decoded) {
    memory.form = items * channel * scenario.channels() * value_bytes;
  }
  return memory;
}

// Processes of one training over nodes that have `campaign.gpus_per_node()`.
absl::Status SpreadRanks(const Job& job, const CampaignPolicy& campaign,
                         int ranks, Needs* needs) {
  const int most = campaign.gpus_per_node();
  if (job.device() == "cpu" || ranks <= most) {
    if (job.device() != "cpu") needs->gpus = ranks;
    return absl::OkStatus();
  }
  needs->nodes = (ranks + most - 1) / most;
  if (ranks % needs->nodes != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "job %s: world_size %d cannot be spread evenly over %d nodes of %d "
        "GPUs; use a multiple of %d",
        job.job_id(), ranks, needs->nodes, most, needs->nodes));
  }
  needs->tasks = ranks / needs->nodes;
  needs->gpus = needs->tasks;
  return absl::OkStatus();
}

}  // namespace

int64_t Needs::memory_bytes() const {
  int64_t bytes = process_bytes;
  for (const auto& [form, size] : inputs) bytes += size;
  return bytes;
}

std::string Needs::ToText() const {
  std::string text;
  if (nodes > 1) {
    text = absl::StrCat(nodes, " nodes with ", tasks,
                        " processes each, each "
                        "node with ");
  }
  absl::StrAppend(&text, Counted(cpus, "CPU"), " (", cpus_basis, "), ");
  if (gpus > 0) absl::StrAppend(&text, Counted(gpus, "GPU"), ", ");
  absl::StrAppend(&text, Gigabytes(memory_bytes()));
  if (inputs.empty()) return text;
  std::vector<std::string> parts = {
      absl::StrCat(Gigabytes(process_bytes), " for programs and batches")};
  for (const auto& [form, size] : inputs) {
    if (size < kShownBytes) continue;
    parts.push_back(absl::StrCat(Gigabytes(size), " of items ", form));
  }
  if (parts.size() == 1) return text;
  return absl::StrCat(text, " (", absl::StrJoin(parts, ", "), ")");
}

void Include(const Needs& more, Needs* needs) {
  needs->nodes = std::max(needs->nodes, more.nodes);
  needs->tasks = std::max(needs->tasks, more.tasks);
  if (more.cpus > needs->cpus || needs->cpus_basis.empty()) {
    needs->cpus_basis = more.cpus_basis;
  }
  needs->cpus = std::max(needs->cpus, more.cpus);
  needs->gpus = std::max(needs->gpus, more.gpus);
  needs->process_bytes = std::max(needs->process_bytes, more.process_bytes);
  for (const auto& [form, size] : more.inputs) {
    int64_t& mine = needs->inputs[form];
    mine = std::max(mine, size);
  }
}

absl::StatusOr<Needs> NeedsOf(const Job& job, const Catalogue& catalogue) {
  const Policy& policy = catalogue.policy();
  const CampaignPolicy& campaign = policy.campaign();
  const Scenario& scenario = *catalogue.FindScenario(job.scenario());
  int workers = job.workers();
  if (job.mode() == "mixture") {
    workers = SettingOf(job, "decode_parallelism", 0);
    // One thread per processor: then the policy says how many to ask for.
    if (workers == 0) workers = campaign.mixture_cpus();
  }
  const int ranks =
      job.mode() == "train" ? std::max(1, SettingOf(job, "world_size", 1)) : 1;
  const Memory memory = MemoryOfItems(job, scenario, catalogue, workers);
  const double all = ranks * memory.process + memory.decoded + memory.form;
  // Written so that a NaN is refused as well.
  if (workers > kMostWorkers || ranks > kMostWorkers ||
      !(all <= kMostMemoryBytes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "job %s: %d workers with batch_size %d and %d items need %.3g GiB, "
        "which no machine has; use smaller numbers",
        job.job_id(), workers, job.batch_size(),
        job.num_items() > 0 ? job.num_items() : kAllItems,
        all / (int64_t{1} << 30)));
  }
  Needs needs;
  if (job.mode() == "train") {
    RETURN_IF_ERROR(SpreadRanks(job, campaign, ranks, &needs));
    const int here = ranks / needs.nodes;
    // The first process also runs the training program itself.
    needs.cpus = here * (1 + workers) + (needs.tasks > 1 ? 0 : 1);
    needs.cpus_basis = absl::StrCat(
        Counted(here, "process", "es"),
        workers > 0 ? absl::StrCat(" with ", workers, " loader workers each")
                    : "",
        needs.tasks > 1 ? "" : " and the runner");
    needs.process_bytes = static_cast<int64_t>(here * memory.process);
    return needs;
  }
  needs.gpus = job.hardware_class() == "cpu" ? 0 : 1;
  needs.cpus = std::max(1, workers) + 1;
  needs.cpus_basis =
      absl::StrCat(job.mode() == "mixture" ? Counted(workers, "decoding thread")
                   : workers > 0           ? Counted(workers, "worker")
                                           : "the measured process",
                   " and the runner");
  needs.process_bytes = static_cast<int64_t>(memory.process);
  if (memory.decoded > 0) {
    needs.inputs["as decoded"] = static_cast<int64_t>(memory.decoded);
  }
  if (memory.form > 0) {
    needs.inputs[absl::StrCat("as ", FormOf(job, scenario, catalogue).second,
                              " with ", scenario.channels(), " channels")] =
        static_cast<int64_t>(memory.form);
  }
  return needs;
}

}  // namespace feedrate
