#include "lib/analysis/coverage/measured_runs.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/records/attempts.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

constexpr char kSeparator = '\x1f';

constexpr const char* kNames[RowSettings::kFields] = {
    "machine_profile", "library_version", "env_set",       "hardware",
    "dataset.sha256",  "dataset.files",   "dataset.bytes", "labels",
};

// Labels that put a row into another table.
std::string TableLabels(const Row& row) {
  std::string text;
  for (const char* label : {"cold", "exploratory", "memory_limited"}) {
    for (const std::string& has : row.labels()) {
      if (has == label) absl::StrAppend(&text, text.empty() ? "" : "+", label);
    }
  }
  // An `ok` row without such labels has value "none"; for a row that did not
  // run, the value is unknown.
  return text.empty() && row.status() == "ok" ? "none" : text;
}

std::string NumberOrNothing(int64_t number) {
  return number == 0 ? "" : absl::StrCat(number);
}

}  // namespace

uint32_t RowSettings::Id(const Row& row) {
  key_ =
      absl::StrJoin({row.machine_profile(), row.library_version(),
                     row.env_set(), row.hardware(), row.dataset().sha256(),
                     NumberOrNothing(row.dataset().files()),
                     NumberOrNothing(row.dataset().bytes()), TableLabels(row)},
                    std::string(1, kSeparator));
  const auto known = ids_.find(key_);
  if (known != ids_.end()) return known->second;
  const std::vector<std::string> parts = absl::StrSplit(key_, kSeparator);
  Values values;
  for (int i = 0; i < kFields && i < parts.size(); ++i) values[i] = parts[i];
  values_.push_back(values);
  const uint32_t id = static_cast<uint32_t>(values_.size() - 1);
  ids_.emplace(key_, id);
  return id;
}

std::string RowSettings::Differences(const std::vector<uint32_t>& ids) const {
  const std::set<uint32_t> different(ids.begin(), ids.end());
  if (different.size() < 2) return "";
  std::string text;
  for (int field = 0; field < kFields; ++field) {
    std::set<std::string> found;
    for (const uint32_t id : different) {
      if (!values_[id][field].empty()) found.insert(values_[id][field]);
    }
    if (found.size() < 2) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", kNames[field], " (",
                    absl::StrJoin(found, ", "), ")");
  }
  return text;
}

namespace {

// Longer reasons are whole stack traces; their start identifies them.
constexpr size_t kLongestReason = 160;

bool IsNoop(const Row& row) {
  return row.equivalence().label() == "noop" ||
         absl::c_linear_search(row.warnings(), "noop");
}

bool IsExploratory(const Row& row) {
  return absl::c_linear_search(row.labels(), "exploratory");
}

bool IsOtherBatch(absl::string_view difference) {
  return absl::StartsWith(difference, "batch_size");
}

// The comparisons are written so that a NaN counts as zero.
bool HasZero(const Row& row) {
  return !(row.elapsed_s() > 0) || !(row.throughput() > 0) ||
         row.items() <= 0 || (row.has_p50_s() && !(row.p50_s() > 0));
}

uint64_t NumbersOf(const Row& row) {
  Fingerprint print;
  print.Double(row.throughput()).Double(row.elapsed_s());
  for (const double sample : row.samples_s()) print.Double(sample);
  return print.value();
}

}  // namespace

RunState MeasuredRuns::StateOf(int job, const Row& row, float item_bytes) {
  RunState state;
  state.run_index = row.run_index();
  state.attempt = row.attempt();
  state.rank = AttemptRank(row);
  if (row.status() == "ok") {
    state.disturbances = texts_.Id(absl::StrJoin(DisturbancesOf(row), ", "));
  }
  state.status = texts_.Id(row.status());
  state.reason =
      texts_.Id(absl::string_view(row.reason()).substr(0, kLongestReason));
  state.run_id = texts_.Id(row.run_id());
  state.env_id = texts_.Id(row.env_id());
  state.hardware_class = texts_.Id(row.hardware_class());
  state.settings = settings_.Id(row);
  state.item_bytes = item_bytes;
  // The speed of one decoder does not limit a faster one.
  if (row.limit().throughput() > 0 && row.limit().name() != "jpeg_decode") {
    state.of_limit =
        static_cast<float>(row.throughput() / row.limit().throughput());
  }
  const std::string difference = jobs_.Difference(job, row);
  state.difference = texts_.Id(difference);
  state.other_batch = IsOtherBatch(difference);
  state.noop = row.status() == "ok" && IsNoop(row);
  state.zero = row.status() == "ok" && HasZero(row);
  state.throughput = row.throughput();
  state.numbers = NumbersOf(row);
  Fingerprint content;
  content.Number(state.numbers).Add(row.status()).Add(row.reason());
  content.Add(difference).Add(row.run_id()).Add(row.env_id());
  for (const std::string& value : settings_.Get(state.settings)) {
    content.Add(value);
  }
  content.Number(static_cast<uint64_t>(state.rank));
  state.content = content.Number(state.noop).value();
  return state;
}

void MeasuredRuns::AddRow(const Row& row, float item_bytes,
                          const std::string& file, int64_t line) {
  if (!machine_profile_.empty() && row.machine_profile() != machine_profile_) {
    return;
  }
  ++rows_;
  if (!DisturbancesOf(row).empty()) {
    disturbed_run_ids_.insert(texts_.Id(row.run_id()));
  }
  const int job = jobs_.Find(row);
  if (job < 0) return AddUnplanned(row, file, line);
  RunState state = StateOf(job, row, item_bytes);
  state.file = texts_.Id(file);
  state.line = static_cast<uint32_t>(line);
  Keep(job, state);
}

void MeasuredRuns::AddUnplanned(const Row& row, const std::string& file,
                                int64_t line) {
  ++unplanned_rows_;
  // Rows of a sweep have a label that keeps them out of the tables.
  if (IsExploratory(row)) return;
  const int job = jobs_.FindCell(row);
  if (job < 0) return;
  const std::string difference = jobs_.Difference(job, row);
  if (difference.empty()) return;
  StrayRows& stray = strays_[{job, difference}];
  const std::string place = absl::StrCat(file, ":", line);
  if (stray.rows == 0 || place < stray.place) stray.place = place;
  stray.other_batch = IsOtherBatch(difference);
  ++stray.rows;
}

bool MeasuredRuns::IsHost(const RunState& run) const {
  return Text(run.hardware_class) == kHostCpu;
}

uint64_t MeasuredRuns::KeyOf(int job, const RunState& run) const {
  return Fingerprint()
      .Number(job)
      .Number(static_cast<uint32_t>(run.run_index))
      .Number(IsHost(run))
      .value();
}

void MeasuredRuns::Keep(int job, const RunState& state) {
  std::vector<RunState>& runs = runs_[job];
  if (runs.empty()) runs.reserve(jobs_.runs(job).size());
  const auto is_before = [&](const RunState& a, const RunState& b) {
    if (a.run_index != b.run_index) return a.run_index < b.run_index;
    return IsHost(a) < IsHost(b);
  };
  const auto at = std::lower_bound(runs.begin(), runs.end(), state, is_before);
  if (at == runs.end() || is_before(state, *at)) {
    runs.insert(at, state);
    return;
  }
  const auto seen = [](const RunState& run) {
    return SeenRow{run.rank, run.attempt, run.settings, run.content};
  };
  std::vector<SeenRow>& rows = several_[KeyOf(job, state)];
  if (rows.empty()) rows.push_back(seen(*at));
  rows.push_back(seen(state));
  const auto order = [](const RunState& run) {
    return std::make_tuple(run.rank, -run.attempt, ~run.content);
  };
  if (order(state) < order(*at)) *at = state;
}

Ties MeasuredRuns::TiesAmong(const std::vector<SeenRow>& rows) {
  const auto order = [](const SeenRow& row) {
    return std::make_tuple(row.rank, -row.attempt, ~row.content);
  };
  const SeenRow& best = *std::min_element(
      rows.begin(), rows.end(),
      [&](const SeenRow& a, const SeenRow& b) { return order(a) < order(b); });
  std::set<uint32_t> settings;
  for (const SeenRow& row : rows) {
    if (row.attempt == best.attempt) settings.insert(row.settings);
  }
  Ties ties;
  ties.settings.assign(settings.begin(), settings.end());
  ties.rows = 0;
  for (const SeenRow& row : rows) {
    if (row.attempt != best.attempt) continue;
    if (settings.size() == 1 && row.rank != best.rank) continue;
    ++ties.rows;
    ties.numbers_differ |= row.content != best.content;
  }
  return ties;
}

int64_t MeasuredRuns::replaced_rows() const {
  int64_t replaced = 0;
  for (const auto& [key, rows] : several_) {
    replaced += static_cast<int64_t>(rows.size()) - TiesAmong(rows).rows;
  }
  return replaced;
}

void MeasuredRuns::AddRun(const Run& run) {
  // If a run record is there twice, keeps the measured value, in any order.
  double& copy = copy_bytes_per_s_[texts_.Id(run.run_id())];
  copy = std::max(copy, run.copy_bytes_per_s());
}

void MeasuredRuns::AddEnv(const Env& env) {
  MachineFacts& facts = machines_[texts_.Id(env.env_id())];
  facts.has_gpu |= !env.gpus().empty();
  facts.usable_cores = std::max(facts.usable_cores, env.cpu().usable_cores());
}

absl::optional<Ties> MeasuredRuns::FindTies(int job,
                                            const RunState& run) const {
  const auto found = several_.find(KeyOf(job, run));
  if (found == several_.end()) return absl::nullopt;
  Ties ties = TiesAmong(found->second);
  if (ties.rows == 1) return absl::nullopt;
  return ties;
}

std::string MeasuredRuns::Place(const RunState& run) const {
  return absl::StrCat(Text(run.file), ":", run.line);
}

double MeasuredRuns::CopyBytesPerS(const RunState& run) const {
  if (WasDisturbed(run)) return 0;
  const auto found = copy_bytes_per_s_.find(run.run_id);
  return found == copy_bytes_per_s_.end() ? 0 : found->second;
}

const MachineFacts* MeasuredRuns::Machine(const RunState& run) const {
  const auto found = machines_.find(run.env_id);
  return found == machines_.end() ? nullptr : &found->second;
}

}  // namespace feedrate
