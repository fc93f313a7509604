#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/flame_graph.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/where.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/train.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

constexpr const char* kStages[] = {"read", "decode", "augment", "collate",
                                   "copy"};

DocumentCell Percent(bool known, double share) {
  if (!known) return NotMeasured();
  DocumentCell cell(absl::StrFormat("%.0f%%", 100 * share));
  cell.value = share;
  return cell;
}

DocumentCell Milliseconds(double seconds) {
  DocumentCell cell(SignificantText(1e3 * seconds));
  cell.value = seconds;
  return cell;
}

DocumentCell Count(int64_t number) {
  DocumentCell cell(absl::StrCat(number));
  cell.value = static_cast<double>(number);
  return cell;
}

DocumentCell Number(bool known, double value) {
  if (!known) return NotMeasured();
  DocumentCell cell(SignificantText(value));
  cell.value = value;
  return cell;
}

// A table whose first column has names and whose others have numbers.
DocumentTable NumbersTable(std::vector<std::string> header) {
  DocumentTable table;
  table.header = std::move(header);
  table.align.assign(table.header.size(), Align::kRight);
  table.align[0] = Align::kLeft;
  return table;
}

std::string NameOf(const Row& row) {
  std::string name = absl::StrCat(row.library(), ", ", row.transform(),
                                  ", workers ", row.workers());
  for (const auto& setting : std::map<std::string, std::string>(
           row.settings().begin(), row.settings().end())) {
    absl::StrAppend(&name, ", ", setting.first, " ", setting.second);
  }
  return name;
}

double BusyOf(const LoaderStats& loader, const std::string& name) {
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == name) return stage.busy_s();
  }
  return 0;
}

std::vector<DocumentCell> TimesOf(const Row& row) {
  const LoaderStats& loader = row.loader();
  const double items = static_cast<double>(row.items());
  return {
      NameOf(row),
      Milliseconds(loader.startup_s()),
      Milliseconds(loader.first_batch_s()),
      Milliseconds(loader.teardown_s()),
      Milliseconds(row.p50_s()),
      Milliseconds(row.p99_s()),
      items > 0 ? Milliseconds(loader.cpu_s() / items) : NotMeasured(),
      Percent(loader.has_worker_efficiency(), loader.worker_efficiency()),
      Percent(loader.has_cpu_idle(), loader.cpu_idle()),
      Percent(loader.has_sync_overhead(), loader.sync_overhead()),
      Percent(loader.has_consumer_utilisation(), loader.consumer_utilisation()),
      Percent(loader.gpu().has_busy(), loader.gpu().busy()),
      Percent(loader.gpu().has_decoder_busy(), loader.gpu().decoder_busy()),
      Percent(loader.gpu().has_jpeg_busy(), loader.gpu().jpeg_busy()),
      Count(loader.errors_total())};
}

// How the items were read from a store.
std::vector<DocumentCell> StorageOf(const Row& row) {
  const Storage& storage = row.storage();
  return {
      NameOf(row),
      storage.scheme(),
      Count(storage.connections()),
      Number(storage.has_download_mb_per_s(), storage.download_mb_per_s()),
      Number(storage.has_one_connection_mb_per_s(),
             storage.one_connection_mb_per_s()),
      Percent(storage.has_parallel_efficiency(), storage.parallel_efficiency()),
      Percent(storage.has_network_share(), storage.network_share()),
      Percent(storage.has_cache_hit_rate(), storage.cache_hit_rate()),
      Count(storage.requests()),
      Count(storage.retries()),
      Count(storage.checksum_faults())};
}

// Shares of all busy time.
std::vector<DocumentCell> StagesOf(const Row& row) {
  double all = 0;
  for (const LoaderStage& stage : row.loader().stages()) all += stage.busy_s();
  std::vector<DocumentCell> cells = {NameOf(row)};
  for (const char* name : kStages) {
    cells.emplace_back(Percent(all > 0, BusyOf(row.loader(), name) / all));
  }
  const LoaderDiagnosis& diagnosis = row.loader().diagnosis();
  cells.emplace_back(diagnosis.explanation().empty() ? NotMeasured()
                                                     : diagnosis.explanation());
  return cells;
}

constexpr size_t kMostLines = 30;

DocumentCell NumberCell(double value, std::string text,
                        std::string detail = "") {
  DocumentCell cell(std::move(text));
  cell.value = value;
  cell.detail = std::move(detail);
  return cell;
}

std::string SignedTime(double seconds) {
  return absl::StrCat(seconds < 0 ? "−" : "+", SecondsText(std::abs(seconds)));
}

DocumentTable PartsTable(const std::vector<ProfilePart>& parts,
                         const std::string& what) {
  DocumentTable table;
  table.header = {what, "share of the change", "change", "A", "B"};
  table.align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                 Align::kRight};
  for (const ProfilePart& part : parts) {
    if (table.rows.size() == kMostLines) break;
    DocumentCell share;
    if (part.has_share_percent()) {
      share = NumberCell(
          part.share_percent(), absl::StrFormat("%.0f%%", part.share_percent()),
          absl::StrFormat("%.0f … %.0f", part.share_low_percent(),
                          part.share_high_percent()));
    }
    table.rows.push_back(
        {part.name(), share,
         NumberCell(part.change_s(), SignedTime(part.change_s()),
                    absl::StrCat(SignedTime(part.low_s()), " … ",
                                 SignedTime(part.high_s()))),
         NumberCell(part.a_s(), SecondsText(part.a_s())),
         NumberCell(part.b_s(), SecondsText(part.b_s()))});
  }
  // There are no shares of a change that is not clear.
  table.DropEmptyColumns();
  return table;
}

Figure FlameFigure(const Profile& profile, const std::string& id) {
  FlameGraph graph;
  graph.title = "Differential flame graph of A and B";
  for (const ProfileFrame& frame : profile.frames()) {
    graph.frames.push_back(
        {frame.parent(), frame.name(), frame.a_s(), frame.b_s()});
  }
  Figure figure;
  figure.id = id;
  figure.caption =
      "Calls from the top down. A frame is as wide as its time on both sides "
      "together; its color says how much more or less time B takes.";
  figure.draw = DrawnBy(DrawFlameGraph, std::move(graph));
  return figure;
}

}  // namespace

absl::optional<Section> LoaderSection(const std::vector<ReportCell>& cells) {
  DocumentTable times = NumbersTable(
      {"loader", "start ms", "first batch ms", "end ms", "batch p50 ms",
       "batch p99 ms", "CPU ms per item", "worker efficiency", "CPU idle",
       "waits for GPU", "accelerator busy", "GPU busy", "NVDEC busy",
       "JPEG engines busy", "skipped items"});
  DocumentTable stages = NumbersTable(
      {"loader", "read", "decode", "augment", "collate", "copy", "what binds"});
  stages.align.back() = Align::kLeft;
  DocumentTable stores = NumbersTable(
      {"loader", "store", "connections", "MB/s", "MB/s of one connection",
       "parallel efficiency", "waiting for bytes", "cache hits", "requests",
       "retries", "wrong checksums"});
  for (const ReportCell& cell : cells) {
    const Row& row = cell.example;
    if (!row.has_loader() || row.library() == kNullLibrary) continue;
    times.rows.push_back(TimesOf(row));
    if (row.has_storage()) stores.rows.push_back(StorageOf(row));
    if (row.loader().stages().empty() && !row.loader().has_diagnosis()) {
      continue;
    }
    stages.rows.push_back(StagesOf(row));
  }
  if (times.rows.empty()) return absl::nullopt;
  Section section;
  section.id = "loaders";
  section.title = "Inside the loaders";
  section.blocks.emplace_back(Paragraph{
      "One run of each: start and end are parts of the epoch, a batch's time "
      "goes from asking for it to having it. Worker efficiency is throughput "
      "over that of one worker times the workers."});
  times.DropEmptyColumns();
  section.blocks.emplace_back(std::move(times));
  if (!stores.rows.empty()) {
    stores.DropEmptyColumns();
    stores.caption = "How the items were read from a store.";
    section.blocks.emplace_back(std::move(stores));
  }
  if (!stages.rows.empty()) {
    section.blocks.emplace_back(Paragraph{
        "Shares of the busy time of all threads, by stage, and what binds "
        "where it was measured."});
    stages.DropEmptyColumns();
    section.blocks.emplace_back(std::move(stages));
  }
  return section;
}

namespace {

struct StepPart {
  const char* name;
  double seconds;
};

// The parts of a step, in its order. Their sum is the mean step time.
std::vector<StepPart> PartsOf(const StepBudget& budget) {
  return {{"data wait", budget.data_wait_s()},
          {"copy", budget.copy_s()},
          {"mixing", budget.mixing_s()},
          {"forward", budget.forward_s()},
          {"loss", budget.loss_s()},
          {"backward", budget.backward_s()},
          {"gradient sync", budget.grad_sync_s()},
          {"optimizer", budget.optimizer_s()},
          {"other", budget.other_s() + budget.unattributed_s()}};
}

std::string TrainingName(const Row& row) {
  const Train& train = row.train();
  std::string name =
      absl::StrCat(row.library(), ", ", train.model(), ", ", train.precision(),
                   ", batch ", row.batch_size(), ", ", train.loader());
  if (train.world_size() > 1) {
    absl::StrAppend(&name, ", ", train.world_size(), " processes");
  }
  return name;
}

// MFU by the most exact count that the row has.
DocumentCell MfuOf(const Train& train) {
  if (train.has_mfu_exact()) return Percent(true, train.mfu_exact());
  if (train.has_mfu_transformer_aware()) {
    return Percent(true, train.mfu_transformer_aware());
  }
  return Percent(train.has_mfu_6nd(), train.mfu_6nd());
}

// What was done to make the step fast, beyond a plain step in fp32.
std::string OptimizationsOf(const Row& row) {
  const Train& train = row.train();
  std::vector<std::string> words;
  if (train.precision() != "fp32") words.push_back(train.precision());
  if (train.engine() == "fused") words.push_back("fused engine");
  if (train.graphs()) words.push_back("CUDA graph");
  if (train.activation_checkpointing()) {
    words.push_back("activation checkpointing");
  }
  if (train.accumulation() > 1) {
    words.push_back(absl::StrCat("accumulation of ", train.accumulation()));
  }
  if (!train.optimizer_in_step()) words.push_back("step without optimizer");
  // Of PyTorch's ways; that of the fused engine is a list of algorithms.
  if (train.engine().empty() && !train.method().empty()) {
    words.push_back(train.method());
  }
  return absl::StrJoin(words, ", ");
}

// Throughput over that of one process times the processes: the row's own, or
// from a row that differs in nothing else.
absl::optional<double> ScalingOf(const Row& row,
                                 const std::vector<const Row*>& rows) {
  const Train& train = row.train();
  if (train.has_scaling_efficiency()) return train.scaling_efficiency();
  if (train.world_size() <= 1) return absl::nullopt;
  const auto key = [](const Row& one) {
    std::map<std::string, std::string> settings(one.settings().begin(),
                                                one.settings().end());
    settings.erase("world_size");
    return std::make_tuple(one.library(), one.library_version(), one.device(),
                           one.hardware(), one.scope(), one.dataset().id(),
                           one.batch_size(), one.seed(), std::move(settings));
  };
  for (const Row* other : rows) {
    if (other->train().world_size() == 1 && key(*other) == key(row) &&
        other->throughput() > 0) {
      return row.throughput() / (train.world_size() * other->throughput());
    }
  }
  return absl::nullopt;
}

// Bytes, or an empty cell.
DocumentCell Bytes(bool has, int64_t bytes) {
  DocumentCell cell = has ? Count(bytes) : DocumentCell("");
  if (has) cell.text = BytesText(static_cast<double>(bytes));
  return cell;
}

std::vector<DocumentCell> StepOf(const Row& row,
                                 const std::vector<const Row*>& rows) {
  const Train& train = row.train();
  std::vector<DocumentCell> cells = {TrainingName(row),
                                     Milliseconds(train.step_time_mean())};
  for (const StepPart& part : PartsOf(train.budget())) {
    const double share = part.seconds / train.step_time_mean();
    // What rounds to nothing is nothing, so that its column can go.
    cells.push_back(Milliseconds(share < 0.0005 ? 0 : part.seconds));
    if (share >= 0.0005) cells.back().detail = PercentText(share);
  }
  cells.push_back(MfuOf(train));
  cells.push_back(Percent(train.has_attainable_mfu(), train.attainable_mfu()));
  cells.push_back(Number(train.has_peak_tflops(), train.peak_tflops()));
  cells.back().detail = train.peak_source();
  cells.push_back(Percent(train.has_gpu_use(), train.gpu_use()));
  cells.push_back(
      Number(train.tokens_per_sec_p50() > 0, train.tokens_per_sec_p50()));
  cells.push_back(Bytes(true, train.memory_peak_bytes()));
  cells.push_back(Count(train.skipped_files()));
  cells.push_back(
      Number(train.has_peak_samples_per_sec(), train.peak_samples_per_sec()));
  cells.push_back(Number(train.has_grad_norm(), train.grad_norm()));
  const absl::optional<double> scaling = ScalingOf(row, rows);
  cells.push_back(Percent(scaling.has_value(), scaling.value_or(0)));
  cells.push_back(
      Number(train.has_allocations_per_step(), train.allocations_per_step()));
  cells.push_back(
      Bytes(train.has_idle_memory_bytes(), train.idle_memory_bytes()));
  cells.push_back(train.storage());
  cells.push_back(OptimizationsOf(row));
  return cells;
}

Figure PartsFigure(const std::vector<const Row*>& rows) {
  BarChart chart;
  chart.title = "Parts of a training step";
  chart.axis_title = "ms per step";
  // A part that takes no time to speak of is in the table.
  const auto is_shown = [](const Row& row, const StepPart& part) {
    return part.seconds >= 0.005 * row.train().step_time_mean();
  };
  const size_t parts = PartsOf(rows[0]->train().budget()).size();
  for (size_t i = 0; i < parts; ++i) {
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
      return is_shown(*row, PartsOf(row->train().budget())[i]);
    });
    if (any) {
      chart.series.push_back(PartsOf(rows[0]->train().budget())[i].name);
    }
  }
  for (const Row* row : rows) {
    BarGroup group;
    group.name = TrainingName(*row);
    group.bars.resize(chart.series.size());
    for (const StepPart& part : PartsOf(row->train().budget())) {
      if (!is_shown(*row, part)) continue;
      Bar bar;
      bar.estimate = Estimate{1e3 * part.seconds, absl::nullopt};
      bar.text = SignificantText(1e3 * part.seconds);
      bar.hover =
          absl::StrCat(group.name, "\n", part.name, ": ", bar.text, " ms");
      const auto place =
          std::find(chart.series.begin(), chart.series.end(), part.name);
      group.bars[place - chart.series.begin()] = std::move(bar);
    }
    chart.groups.push_back(std::move(group));
  }
  Figure figure;
  figure.id = "training-step-parts";
  figure.caption = "Where the time of a step goes; parts of 0.5% or more.";
  figure.draw = DrawnBy(DrawBarChart, std::move(chart));
  return figure;
}

}  // namespace

absl::optional<Section> StepsSection(const std::vector<ReportCell>& cells) {
  // With more bars than this, the table is easier to read.
  constexpr size_t kMostTrainings = 12;
  std::vector<const Row*> rows;
  for (const ReportCell& cell : cells) {
    if (cell.example.has_train() && cell.status == "ok") {
      rows.push_back(&cell.example);
    }
  }
  if (rows.empty()) return absl::nullopt;
  std::vector<std::string> header = {"training", "step ms"};
  for (const StepPart& part : PartsOf(rows[0]->train().budget())) {
    header.push_back(part.name);
  }
  for (const char* name :
       {"MFU", "attainable MFU", "peak TFLOPS", "GPU use", "tokens/s",
        "peak memory", "skipped files", "samples/s at the peak",
        "gradient norm", "scaling efficiency", "allocations per step",
        "idle GPU memory", "storage", "optimizations"}) {
    header.push_back(name);
  }
  DocumentTable table = NumbersTable(std::move(header));
  // Words: storage and optimizations.
  std::fill(table.align.end() - 2, table.align.end(), Align::kLeft);
  for (const Row* row : rows) table.rows.push_back(StepOf(*row, rows));
  table.DropEmptyColumns();
  Section section;
  section.id = "steps";
  section.title = "Inside the training steps";
  section.blocks.emplace_back(Paragraph{
      "One run of each: mean milliseconds per step and by part, which add up, "
      "with shares of the step. MFU is the share of the peak that the model's "
      "operations use; the attainable one is what the roofline allows."});
  section.blocks.emplace_back(std::move(table));
  if (rows.size() <= kMostTrainings) {
    section.blocks.emplace_back(PartsFigure(rows));
  }
  return section;
}

absl::optional<Section> WhereSection(const ReportInput& input) {
  Section section;
  section.id = "where";
  section.title = "Where the time changed";
  for (size_t i = 0; i < input.profiles.size(); ++i) {
    const Profile& profile = input.profiles[i];
    DocumentTable table = PartsTable(
        {profile.parts().begin(), profile.parts().end()}, "function");
    table.caption = absl::StrCat(
        "Functions by their own time, the largest change first, with 95% "
        "intervals over ",
        profile.pairs(), " profiled pairs. ",
        profile.profiler() == "perf" ? "CPU time of all threads"
                                     : "Time of the main thread",
        " per run: A ", SecondsText(profile.a_s()), ", B ",
        SecondsText(profile.b_s()), ".");
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(
        FlameFigure(profile, absl::StrCat("flame-graph", i == 0 ? "" : "-",
                                          i == 0 ? "" : absl::StrCat(i + 1))));
  }
  PairedRows paired(RunStatistic::kTypical);
  for (const Row& row : input.rows) paired.Add(row);
  for (const PairedJob& job : paired.jobs()) {
    const std::vector<ProfilePart> parts = RowParts(job);
    if (parts.empty()) continue;
    DocumentTable table = PartsTable(parts, "part");
    table.caption =
        absl::StrCat(job.label,
                     ": time per item or step by stage or part, with 95% "
                     "intervals over pairs.");
    section.blocks.emplace_back(std::move(table));
  }
  if (section.blocks.empty()) return absl::nullopt;
  return section;
}

}  // namespace feedrate
