#include "lib/planning/jobs.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/text_proto.h"
#include "lib/planning/variants.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/train_settings.h"

namespace feedrate {
namespace {

// Size of the ImageNet validation set and of a UCF101-like one: what "all"
// means where nobody has counted yet.
constexpr double kAllImages = 50000;
constexpr double kAllClips = 13320;
// A policy without an entry for the mode; a slow image transform.
constexpr double kFallbackItemsPerSecond = 100;

double ItemsOf(const Job& job, absl::string_view media) {
  if (job.num_items() > 0) return static_cast<double>(job.num_items());
  return media == "clip" ? kAllClips : kAllImages;
}

// Samples of the measured steps of a training, or if `all`, of those before
// them too: those of each process, because they work at the same time.
double SamplesOf(const Job& job, bool all) {
  const double samples = job.batch_size() * TrainNumber(job, "accumulation");
  const double before = all ? samples * TrainNumber(job, "warmup") : 0;
  const double epochs = TrainNumber(job, "epochs");
  if (epochs == 0) return before + samples * TrainNumber(job, "steps");
  return before +
         epochs * ItemsOf(job, "image") / TrainNumber(job, "world_size");
}

// Digits beyond a millisecond are noise in a record.
double Rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

// Job and row have the same fields.
template <typename Record>
std::string CellOf(const Record& record) {
  // Models differ more than libraries.
  const auto model = record.settings().find("model");
  return absl::StrCat(model == record.settings().end() ? "" : model->second,
                      "|", "cell|", record.scenario(), "|", record.mode(), "|",
                      record.scope(), "|", record.library(), "|",
                      record.transform(), "|", record.device());
}

}  // namespace

void MeasuredCosts::Add(const Row& row) {
  if (!(row.duration_s() > 0) || !(row.elapsed_s() >= 0)) return;
  Start& start = starts_[row.run_id()];
  absl::Time began;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, row.started_at(), &began, &error)) {
    start.first = std::min(start.first, began);
    start.last = std::max(start.last, began + absl::Seconds(row.duration_s()));
    start.rows_s += row.duration_s();
    start.jobs.insert(row.job_id());
  }
  const bool stops_early = row.status() == "early_stopped";
  if (row.status() != "ok" && !stops_early) return;
  for (const std::string& key : {row.job_id(), CellOf(row)}) {
    Sum& sum = sums_[key];
    ++sum.rows;
    sum.elapsed_s += row.elapsed_s();
    sum.other_s += std::max(0.0, row.duration_s() - row.elapsed_s());
    sum.items += static_cast<double>(row.items());
    sum.stops_early = stops_early;
  }
}

// Preparing, preflight, warm-up and equivalence belong to no row.
double MeasuredCosts::OverheadSeconds() const {
  double between_s = 0;
  size_t jobs = 0;
  for (const auto& [id, start] : starts_) {
    if (start.jobs.empty()) continue;
    between_s += std::max(
        0.0, absl::ToDoubleSeconds(start.last - start.first) - start.rows_s);
    jobs += start.jobs.size();
  }
  return jobs == 0 ? 0 : between_s / static_cast<double>(jobs);
}

absl::optional<double> MeasuredCosts::Seconds(const Job& job,
                                              double items) const {
  auto found = sums_.find(job.job_id());
  if (found == sums_.end()) found = sums_.find(CellOf(job));
  if (found == sums_.end()) return absl::nullopt;
  const Sum& sum = found->second;
  const double rows = static_cast<double>(sum.rows);
  const double scale = sum.items > 0 ? items * rows / sum.items : 1;
  const double run_s = (sum.elapsed_s * scale + sum.other_s) / rows;
  // One preflight answers for all runs.
  const int runs = sum.stops_early ? 1 : job.run_indexes_size();
  return OverheadSeconds() + run_s * runs;
}

double CostModel::ItemsPerSecond(const Job& job, absl::string_view media,
                                 std::string* basis) const {
  const absl::optional<double> published = published_.ItemsPerSecond(
      job.scenario(), job.mode(), job.device(), job.transform(), job.library());
  if (published.has_value() && *published > 0) {
    *basis = "published";
    return *published;
  }
  *basis = "default";
  for (const DefaultThroughput& entry : policy_.cost().default_throughput()) {
    if (entry.media() == media && entry.mode() == job.mode() &&
        entry.device() == job.device() &&
        (!entry.has_model() || entry.model() == TrainText(job, "model"))) {
      return entry.items_per_s();
    }
  }
  return kFallbackItemsPerSecond;
}

Cost CostModel::Of(const Job& job, absl::string_view media,
                   const Execution& execution) const {
  if (job.has_unsupported_reason()) return Cost();
  const bool trains = job.mode() == "train";
  const double items =
      trains ? SamplesOf(job, /*all=*/false) * TrainNumber(job, "world_size")
             : ItemsOf(job, media);
  if (measured_ != nullptr) {
    const absl::optional<double> seconds = measured_->Seconds(job, items);
    if (seconds.has_value()) return {Rounded(*seconds), "rows"};
  }
  Cost cost;
  const CostPolicy& policy = policy_.cost();
  const double per_item_s = 1 / ItemsPerSecond(job, media, &cost.basis);
  if (trains) {
    cost.seconds = Rounded(
        job.run_indexes_size() *
        (policy.job_overhead_s() + SamplesOf(job, /*all=*/true) * per_item_s));
    return cost;
  }
  const double preflight_s =
      per_item_s * std::min<double>(items, execution.preflight_items());
  cost.seconds = policy.job_overhead_s() + preflight_s;
  if (per_item_s < execution.slow_threshold_s() ||
      execution.disable_slow_skip()) {
    cost.seconds += job.run_indexes_size() *
                    std::max(execution.min_time(),
                             policy.passes_per_run() * items * per_item_s);
  }
  cost.seconds = Rounded(cost.seconds);
  return cost;
}

bool AnswersForAllRuns(const std::string& status) {
  return status == "early_stopped" || status == "unsupported";
}

bool IsDone(const std::string& status) {
  return status == "ok" || AnswersForAllRuns(status);
}

absl::Status ReadRows(const std::vector<std::string>& paths,
                      const std::function<void(const std::string&)>& complain,
                      const std::function<void(const Row&)>& add) {
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&row));
        add(row);
        return absl::OkStatus();
      },
      complain);
  for (const std::string& path : paths) {
    if (!IsFolder(path)) {
      RETURN_IF_ERROR(reader.ReadFile(path));
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ListPlainFiles(path, ".jsonl"));
    for (const std::string& file : files) {
      RETURN_IF_ERROR(reader.ReadFile(file));
    }
  }
  return absl::OkStatus();
}

void ExistingRuns::Add(const Row& row) {
  if (!machine_profile_.empty() && row.machine_profile() != machine_profile_) {
    return;
  }
  ++rows_;
  Attempt& attempt = jobs_[row.job_id()][row.run_index()];
  if (row.attempt() < attempt.number) return;
  // Nothing reads a row that is ok and has no rate.
  const bool is_usable = row.status() != "ok" || row.throughput() > 0;
  attempt = {row.attempt(), is_usable && IsDone(row.status()),
             AnswersForAllRuns(row.status())};
}

bool ExistingRuns::Done(const std::string& job_id, int32_t run_index) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return false;
  const auto run = job->second.find(run_index);
  if (run != job->second.end()) return run->second.done;
  return std::any_of(
      job->second.begin(), job->second.end(),
      [](const auto& other) { return other.second.answers_for_all; });
}

namespace {

constexpr char kExploratory[] = "exploratory";
constexpr char kDeviceAxis[] = "device";

// Whether the axis changes which cells there are; see CellsOf.
bool VariesCells(const std::string& axis) {
  return axis == kDeviceAxis || axis == "scope" || axis == "params_profile";
}

// Whether rows at this batch size stay out of the main tables.
bool IsExploratory(const ModePolicy& mode, const Job& job) {
  bool listed = false;
  for (const MainBatchSize& main : mode.main_batch_sizes()) {
    if (main.scenario() != job.scenario()) continue;
    if (main.has_device() && main.device() != job.device()) continue;
    if (main.batch_size() == job.batch_size()) return false;
    listed = true;
  }
  return listed;
}

class Planner {
 public:
  Planner(const PlanInput& input, const PlanOutput& output)
      : input_(input),
        output_(output),
        check_(input.places),
        selection_(input.config.selection()),
        scenario_(*input.catalogue.FindScenario(selection_.scenario())),
        mode_(*input.catalogue.FindMode(selection_.mode(), scenario_.media())) {
    RunConfig config = input.config;
    config.mutable_selection()->clear_libraries();
    config.mutable_selection()->clear_transforms();
    for (SweepAxis& axis : *config.mutable_sweep()) axis.clear_values();
    config.clear_output();
    config_ = WithoutQueries(PrintTextProto(config));
  }

  // Builds the cells of every point, so that a mistake at the last one is
  // found before the first job.
  absl::Status Prepare() {
    RunConfig config = input_.config;
    auto* sweep = config.mutable_sweep();
    sweep->erase(std::remove_if(sweep->begin(), sweep->end(),
                                [](const SweepAxis& axis) {
                                  return !VariesCells(axis.name());
                                }),
                 sweep->end());
    Variants variants(config);
    Variant variant;
    while (variants.Next(&variant)) {
      RETURN_IF_ERROR(CellsOf(variant.config).status());
    }
    return absl::OkStatus();
  }

  absl::Status Run() {
    RETURN_IF_ERROR(Prepare());
    Variants variants(input_.config);
    Variant variant;
    while (variants.Next(&variant)) {
      ASSIGN_OR_RETURN(const CellTable* table, CellsOf(variant.config));
      SetShared(variant);
      for (const Cell& cell : table->cells) {
        SetOwn(*table, cell);
        RETURN_IF_ERROR(Emit());
      }
    }
    return absl::OkStatus();
  }

 private:
  // Points of a sweep share their cells unless device, scope or profile vary.
  absl::StatusOr<const CellTable*> CellsOf(const RunConfig& config) {
    const auto key =
        std::make_tuple(config.execution().device(), config.execution().scope(),
                        config.selection().params_profile());
    const auto known = tables_.find(key);
    if (known != tables_.end()) return &known->second;
    ASSIGN_OR_RETURN(
        CellTable table,
        BuildCells(input_.config, input_.catalogue, check_, std::get<0>(key),
                   std::get<1>(key), std::get<2>(key)));
    if (SweepsCpu()) LeaveOutHostCpu(&table);
    if (output_.excluded) {
      for (const ExcludedCell& cell : table.excluded) output_.excluded(cell);
    }
    return &tables_.emplace(key, std::move(table)).first->second;
  }

  bool SweepsCpu() const {
    for (const SweepAxis& axis : input_.config.sweep()) {
      if (axis.name() != kDeviceAxis) continue;
      return std::any_of(axis.values().begin(), axis.values().end(),
                         [](const std::string& value) {
                           return value == "cpu" || value == "none";
                         });
    }
    return false;
  }

  // What runs on the host's CPU beside `cuda` is the job that the sweep has on
  // `cpu`, by its id too.
  static void LeaveOutHostCpu(CellTable* table) {
    std::vector<Cell> kept;
    for (Cell& cell : table->cells) {
      const LibraryPlan& library = table->libraries[cell.library];
      if (library.hardware_class == "host_cpu") {
        table->excluded.push_back({library.name, cell.transform,
                                   "the same job as on cpu in this sweep"});
      } else {
        kept.push_back(std::move(cell));
      }
    }
    table->cells = std::move(kept);
  }

  // What all jobs of a point have in common.
  void SetShared(const Variant& variant) {
    const Execution& execution = variant.config.execution();
    job_.Clear();
    job_.set_scenario(scenario_.name());
    job_.set_mode(mode_.mode());
    job_.set_scope(execution.scope());
    job_.set_num_items(variant.config.data().num_items());
    job_.set_batch_size(execution.batch_size());
    job_.set_workers(execution.workers());
    job_.set_thread_policy(execution.thread_policy());
    if (scenario_.has_transforms()) {
      job_.set_params_profile(variant.config.selection().params_profile());
    }
    job_.set_dataset(variant.config.data().id());
    job_.set_seed(execution.seed());
    for (const auto& [name, value] : variant.settings) {
      (*job_.mutable_settings())[name] = value;
    }
    job_.set_env_set(selection_.env_set());
    job_.set_slow_threshold_s(execution.slow_threshold_s());
    job_.set_preflight_items(execution.preflight_items());
    job_.set_disable_slow_skip(execution.disable_slow_skip());
    if (variant.config.has_label()) job_.set_label(variant.config.label());
    if (variant.config.has_note()) job_.set_note(variant.config.note());
    job_.set_config(config_);
  }

  void SetOwn(const CellTable& table, const Cell& cell) {
    const LibraryPlan& library = table.libraries[cell.library];
    job_.set_library(library.name);
    job_.set_device(library.device);
    job_.set_hardware_class(library.hardware_class);
    job_.set_env_group(library.env_group);
    job_.set_transform(cell.transform);
    job_.set_params_sha256(cell.params_sha256);
    const std::string reason =
        cell.unsupported_reason.value_or(WhyNotContainer(library.name));
    job_.clear_unsupported_reason();
    if (!reason.empty()) job_.set_unsupported_reason(reason);
    job_.mutable_labels()->Assign(library.labels.begin(), library.labels.end());
    if (IsExploratory(mode_, job_)) AddLabel(kExploratory);
    job_.set_job_id(JobId(job_));
    job_.set_output(ResultFileName(job_, input_.config.execution().num_runs()));
  }

  // Why the library does not read the container of the job. Empty if it does,
  // or the job has none.
  std::string WhyNotContainer(const std::string& name) const {
    const std::string container = ContainerOf(job_);
    const Library* const library =
        input_.catalogue.FindLibrary(std::string(MatrixName(name)));
    if (container.empty() || library == nullptr) return "";
    return feedrate::WhyNotContainer(*library, container);
  }

  void AddLabel(const std::string& label) {
    auto* labels = job_.mutable_labels();
    if (std::find(labels->begin(), labels->end(), label) != labels->end()) {
      return;
    }
    *labels->Add() = label;
    std::sort(labels->begin(), labels->end());
  }

  absl::Status Emit() {
    job_.clear_run_indexes();
    for (int run = 0; run < input_.config.execution().num_runs(); ++run) {
      if (input_.existing != nullptr &&
          input_.existing->Done(job_.job_id(), run)) {
        continue;
      }
      job_.add_run_indexes(run);
    }
    if (job_.run_indexes().empty()) {
      if (output_.done) output_.done(job_);
      return absl::OkStatus();
    }
    const Cost cost =
        input_.cost.Of(job_, scenario_.media(), input_.config.execution());
    job_.set_cost_s(cost.seconds);
    job_.set_cost_basis(cost.basis);
    return output_.job(job_);
  }

  const PlanInput& input_;
  const PlanOutput& output_;
  const FieldChecker check_;
  const Selection& selection_;
  const Scenario& scenario_;
  const ModePolicy& mode_;
  std::map<std::tuple<std::string, std::string, std::string>, CellTable>
      tables_;
  // The `config` of every job.
  std::string config_;
  Job job_;
};

}  // namespace

absl::Status CheckJobs(const PlanInput& input) {
  return Planner(input, PlanOutput()).Prepare();
}

absl::Status ForEachJob(const PlanInput& input, const PlanOutput& output) {
  return Planner(input, output).Run();
}

}  // namespace feedrate
