#include "lib/gate/stored_runs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/records/attempts.h"
#include "lib/records/train.pb.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::optional<double> NumberOf(const Message& message,
                                const FieldDescriptor& field) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(r.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(r.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.GetDouble(message, &field);
    default:
      return absl::nullopt;
  }
}

void AddMessage(const Message& message, const std::string& prefix,
                std::map<std::string, std::vector<double>>* values) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& r = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    if (field.has_presence() && !r.HasField(message, &field)) continue;
    const std::string name = absl::StrCat(prefix, field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddMessage(r.GetMessage(message, &field), name + ".", values);
      continue;
    }
    const absl::optional<double> number = NumberOf(message, field);
    if (number && std::isfinite(*number)) (*values)[name].push_back(*number);
  }
}

void AddNames(const google::protobuf::Descriptor& type,
              const std::string& prefix, std::vector<std::string>* names) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    const std::string name = absl::StrCat(prefix, field.name());
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        AddNames(*field.message_type(), name + ".", names);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
      case FieldDescriptor::CPPTYPE_BOOL:
      case FieldDescriptor::CPPTYPE_ENUM:
        break;
      default:
        names->push_back(name);
    }
  }
}

}  // namespace

const std::vector<std::string>& MetricNames() {
  static const auto* const kNames = [] {
    auto* const names = new std::vector<std::string>;
    AddNames(*Row::descriptor(), "", names);
    AddNames(*Train::descriptor(), "", names);
    AddNames(*Eval::descriptor(), "", names);
    return names;
  }();
  return *kNames;
}

RunValues ValuesOfRows(const std::vector<Row>& rows) {
  RunValues values;
  for (const Row& row : rows) {
    if (row.status() != "ok") continue;
    AddMessage(row, "", &values);
    for (const auto& counter : row.counters()) {
      values[absl::StrCat(kCounterPrefix, counter.first)].push_back(
          counter.second);
    }
  }
  return values;
}

Metrics MediansOf(const RunValues& values) {
  Metrics metrics;
  for (const auto& entry : values) {
    std::vector<double> sorted = entry.second;
    metrics[entry.first] = SelectQuantile(absl::MakeSpan(sorted), 0.5);
  }
  return metrics;
}

bool JobRuns::OfOneExecution() const {
  return !runs[0].run_id().empty() &&
         std::all_of(runs.begin(), runs.end(), [this](const Row& row) {
           return row.run_id() == runs[0].run_id();
         });
}

std::vector<Row> JobRuns::Clean() const {
  std::vector<Row> clean;
  for (const Row& row : runs) {
    if (DisturbancesOf(row).empty()) clean.push_back(row);
  }
  return clean;
}

namespace {

RunsByJob GroupRuns(const std::vector<Row>& rows, bool all_executions) {
  std::map<std::pair<std::string, int>, std::vector<const Row*>> attempts;
  for (const Row& row : rows) {
    attempts[{row.job_id(), row.run_index()}].push_back(&row);
  }
  RunsByJob by_job;
  for (auto& entry : attempts) {
    std::vector<const Row*>& tries = entry.second;
    std::stable_sort(
        tries.begin(), tries.end(),
        [](const Row* a, const Row* b) { return a->attempt() < b->attempt(); });
    // By version and data. A run that failed may not have said what it
    // measured, so it is an attempt at any of them.
    std::map<std::pair<std::string, std::string>, const Row*> best;
    for (const Row* row : tries) {
      if (row->status() != "ok") continue;
      const Row*& kept =
          best[{row->library_version(), row->dataset().sha256()}];
      if (!kept || AttemptRank(*row) <= AttemptRank(*kept)) kept = row;
    }
    if (best.empty()) {
      for (const Row* row : tries) {
        const Row*& kept = best[{}];
        if (!kept || AttemptRank(*row) <= AttemptRank(*kept)) kept = row;
      }
    }
    JobRuns& job = by_job[entry.first.first];
    for (const auto& chosen : best) job.runs.push_back(*chosen.second);
    for (const Row* row : tries) {
      const auto chosen =
          best.find({row->library_version(), row->dataset().sha256()});
      if (all_executions && chosen != best.end() && row->status() == "ok" &&
          row->run_id() != chosen->second->run_id() &&
          DisturbancesOf(*row).empty()) {
        job.runs.push_back(*row);
      }
    }
    if (best.size() == 1 && best.begin()->second != tries.back()) {
      job.not_last.push_back(
          absl::StrCat("run ", entry.first.second, ": attempt ",
                       best.begin()->second->attempt(), " of ", tries.size()));
    }
  }
  return by_job;
}

}  // namespace

RunsByJob CleanestAttempts(const std::vector<Row>& rows) {
  return GroupRuns(rows, /*all_executions=*/false);
}

RunsByJob RunsOfBaseline(const std::vector<Row>& rows) {
  return GroupRuns(rows, /*all_executions=*/true);
}

void MarkSlowCores(RunsByJob* current, RunsByJob* baseline) {
  // Workers of other libraries and versions may take other probes.
  std::map<std::pair<std::string, std::string>, double> slow_above;
  const auto each_run = [&](const auto& use) {
    for (RunsByJob* side : {current, baseline}) {
      for (auto& job : *side) {
        for (Row& row : job.second.runs) {
          if (row.has_core_speed()) {
            use({row.library(), row.library_version()}, &row);
          }
        }
      }
    }
  };
  using Worker = std::pair<std::string, std::string>;
  each_run([&](const Worker& worker, const Row* row) {
    const double above = row->core_speed().slow_above();
    double& least = slow_above.emplace(worker, above).first->second;
    least = std::min(least, above);
  });
  each_run([&](const Worker& worker, Row* row) {
    const auto& warnings = row->warnings();
    if (row->core_speed().probe() <= slow_above[worker] ||
        std::count(warnings.begin(), warnings.end(), "contended") > 0) {
      return;
    }
    row->add_warnings("contended");
  });
}

namespace {

// The values of `of` in the `ok` rows, without "".
template <typename Of>
std::set<std::string> Distinct(const std::vector<Row>& rows, const Of& of) {
  std::set<std::string> values;
  for (const Row& row : rows) {
    if (row.status() == "ok" && !of(row).empty()) values.insert(of(row));
  }
  return values;
}

// Whether the sides are known to have measured different things.
bool Differ(const std::set<std::string>& current,
            const std::set<std::string>& baseline) {
  if (current.size() > 1 || baseline.size() > 1) return true;
  return !current.empty() && !baseline.empty() && current != baseline;
}

std::string VersionOf(const Row& row) { return row.library_version(); }
std::string DataOf(const Row& row) {
  if (row.dataset().sha256().empty()) return "";
  return absl::StrCat(row.dataset().id(), " (", row.dataset().files(),
                      " files, SHA-256 ", row.dataset().sha256().substr(0, 12),
                      ")");
}

}  // namespace

absl::optional<Mismatch> FindMismatch(const std::vector<Row>& current,
                                      const std::vector<Row>& baseline,
                                      bool any_version) {
  const std::set<std::string> versions = Distinct(current, VersionOf);
  const std::set<std::string> stored_versions = Distinct(baseline, VersionOf);
  if (!any_version && Differ(versions, stored_versions)) {
    return Mismatch{
        "other_version",
        absl::StrCat("the baseline is of ", current[0].library(), " ",
                     absl::StrJoin(stored_versions, " and "), ", the rows of ",
                     absl::StrJoin(versions, " and "))};
  }
  const std::set<std::string> data = Distinct(current, DataOf);
  const std::set<std::string> stored_data = Distinct(baseline, DataOf);
  if (Differ(data, stored_data)) {
    return Mismatch{
        "other_data",
        absl::StrCat("the baseline was measured on other data: ",
                     absl::StrJoin(stored_data, " and "), ", the rows on ",
                     absl::StrJoin(data, " and "))};
  }
  const std::set<std::string> caches = Distinct(current, PageCacheOf);
  const std::set<std::string> stored_caches = Distinct(baseline, PageCacheOf);
  if (Differ(caches, stored_caches)) {
    return Mismatch{
        "other_cache",
        absl::StrCat("the baseline was measured ",
                     absl::StrJoin(stored_caches, " and "), ", the rows ",
                     absl::StrJoin(caches, " and "), " (--cold)")};
  }
  return absl::nullopt;
}

std::string IdentityDifference(const Row& current, const Row& baseline) {
  std::vector<std::string> parts;
  const auto compare = [&parts](const char* name, const auto& now,
                                const auto& stored) {
    const std::string now_text = absl::StrCat(now);
    const std::string stored_text = absl::StrCat(stored);
    if (now_text == stored_text) return;
    parts.push_back(absl::StrCat(name, " ", stored_text, ", not ", now_text));
  };
  compare("data", current.dataset().id(), baseline.dataset().id());
  compare("scope", current.scope(), baseline.scope());
  compare("device", current.device(), baseline.device());
  compare("num_items", current.num_items(), baseline.num_items());
  compare("batch_size", current.batch_size(), baseline.batch_size());
  compare("workers", current.workers(), baseline.workers());
  compare("thread_policy", current.thread_policy(), baseline.thread_policy());
  compare("params_profile", current.params_profile(),
          baseline.params_profile());
  compare("seed", current.seed(), baseline.seed());
  std::set<std::string> names;
  for (const auto& setting : current.settings()) names.insert(setting.first);
  for (const auto& setting : baseline.settings()) names.insert(setting.first);
  const auto value = [](const Row& row, const std::string& name) {
    const auto found = row.settings().find(name);
    return found == row.settings().end() ? "unset" : found->second;
  };
  for (const std::string& name : names) {
    compare(name.c_str(), value(current, name), value(baseline, name));
  }
  if (parts.empty() && current.params_sha256() != baseline.params_sha256()) {
    parts.push_back("other parameters of the transform");
  }
  return absl::StrJoin(parts, "; ");
}

namespace {

// A shorter run of a loader says little: the counters of the kernel, which tell
// what disturbed a run, have ticks, and one hiccup is most of it. The gate does
// not read the policy of runners, whose min_judged_s is the same.
constexpr double kShortestLoaderS = 0.1;

bool IsShort(const Row& row) {
  return row.has_loader() && row.elapsed_s() > 0 &&
         row.elapsed_s() < kShortestLoaderS;
}

}  // namespace

std::string DisturbedText(const JobRuns& job, const char* side,
                          std::vector<std::string>* codes) {
  size_t measured = 0;
  std::set<std::string> causes;
  size_t disturbed = 0;
  for (const Row& row : job.runs) {
    if (row.status() != "ok") continue;
    ++measured;
    std::vector<std::string> found = DisturbancesOf(row);
    if (IsShort(row)) found.push_back(kShort);
    disturbed += !found.empty();
    causes.insert(found.begin(), found.end());
  }
  if (2 * disturbed < measured || disturbed == 0) return "";
  codes->insert(codes->end(), causes.begin(), causes.end());
  return absl::StrCat(
      disturbed, " of ", measured, measured == 1 ? " run" : " runs", " of ",
      side, disturbed == 1 ? " is " : " are ", absl::StrJoin(causes, " and "),
      causes.count(kShort) > 0
          ? absl::StrCat(" (under ", kShortestLoaderS, " s)")
          : "");
}

namespace {

constexpr double kUsualDf = 4;
constexpr size_t kFewestJobs = 10;
constexpr size_t kFewestSamples = 3;
constexpr double kSingleDf = 3;
// Makes a median distance the standard deviation of normal noise.
constexpr double kNormal = 1.4826;

double SquaresOf(absl::Span<const double> values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

std::vector<double> Logs(absl::Span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

bool AllAboveZero(absl::Span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return value > 0; });
}

}  // namespace

double Shift::Limit(double level) const {
  return df <= 0 ? 0 : StudentTQuantile(1 - level, df) * error;
}

Shift Shift::AcrossExecutions() const {
  Shift across = *this;
  if (run_share == 0) return across;
  across.error *= std::sqrt(1 + 1 / run_share);
  return across;
}

namespace {

constexpr double kWrongOrder = 0.02;
// In standard deviations of the rank test: one of 2,000 jobs without a change
// gets there by chance.
constexpr double kUnlikelyOrder = 3.3;

Shift::Order OrderOf(const std::vector<double>& before,
                     const std::vector<double>& now, double shift) {
  size_t wrong = 0;
  for (double a : before) {
    for (double b : now) wrong += shift > 0 ? b <= a : b >= a;
  }
  const double pairs = static_cast<double>(before.size() * now.size());
  const double deviation =
      std::sqrt((before.size() + now.size() + 1) / (12 * pairs));
  const double share = wrong / pairs;
  if (share <= kWrongOrder) return Shift::Order::kApart;
  return share <= 0.5 - kUnlikelyOrder * deviation ? Shift::Order::kUnlikely
                                                   : Shift::Order::kMixed;
}

}  // namespace

absl::optional<Shift> ShiftOfRuns(absl::Span<const double> baseline,
                                  absl::Span<const double> current) {
  if (baseline.empty() || current.empty() || !AllAboveZero(baseline) ||
      !AllAboveZero(current)) {
    return absl::nullopt;
  }
  const std::vector<double> before = Logs(baseline);
  const std::vector<double> now = Logs(current);
  Shift shift;
  shift.log = MeanOf(now) - MeanOf(before);
  shift.df = static_cast<double>(before.size() + now.size() - 2);
  shift.single_runs = before.size() == 1 || now.size() == 1;
  if (shift.df == 0) return shift;
  shift.order = OrderOf(before, now, shift.log);
  const double variance = (SquaresOf(before) + SquaresOf(now)) / shift.df;
  shift.run_share = 1.0 / before.size() + 1.0 / now.size();
  shift.error = std::sqrt(variance * shift.run_share);
  return shift;
}

absl::optional<Shift> ShiftOfSamples(const Row& baseline, const Row& current) {
  const std::vector<double> before(baseline.samples_s().begin(),
                                   baseline.samples_s().end());
  const std::vector<double> now(current.samples_s().begin(),
                                current.samples_s().end());
  if (before.size() < kFewestSamples || now.size() < kFewestSamples) {
    return absl::nullopt;
  }
  // The times swap sides, because less time is more throughput.
  if (before.size() != now.size()) {
    absl::optional<Shift> shift = ShiftOfRuns(now, before);
    if (shift) shift->single_runs = true;
    return shift;
  }
  if (!AllAboveZero(now) || !AllAboveZero(before)) return absl::nullopt;
  std::vector<double> ratios;
  for (size_t i = 0; i < now.size(); ++i) ratios.push_back(before[i] / now[i]);
  const std::vector<double> logs = Logs(ratios);
  Shift shift;
  shift.log = MeanOf(logs);
  shift.df = static_cast<double>(logs.size() - 1);
  shift.error = std::sqrt(SquaresOf(logs) / shift.df / logs.size());
  shift.single_runs = true;
  return shift;
}

namespace {

// The row's summary or, without one, that of its samples. Absent if there are
// too few of them, or they do not scatter.
absl::optional<SampleSummary> SummaryOf(const Row& row) {
  SampleSummary summary = row.summary();
  const std::vector<double> samples(row.samples_s().begin(),
                                    row.samples_s().end());
  if (samples.size() >= kFewestSamples) {
    summary.set_count(static_cast<int64_t>(samples.size()));
    summary.set_mean_s(MeanOf(samples));
    summary.set_stddev_s(std::sqrt(SquaresOf(samples) / (samples.size() - 1)));
  }
  if (summary.mean_s() <= 0) summary.set_mean_s(summary.median_s());
  if (summary.count() < static_cast<int64_t>(kFewestSamples) ||
      !(summary.mean_s() > 0) || !(summary.stddev_s() > 0)) {
    return absl::nullopt;
  }
  return summary;
}

}  // namespace

absl::optional<Shift> ShiftOfSummaries(const Row& baseline,
                                       const Row& current) {
  const absl::optional<SampleSummary> before = SummaryOf(baseline);
  const absl::optional<SampleSummary> now = SummaryOf(current);
  if (!before || !now || baseline.throughput() <= 0 ||
      current.throughput() <= 0) {
    return absl::nullopt;
  }
  Shift shift;
  shift.single_runs = true;
  shift.log = std::log(current.throughput() / baseline.throughput());
  double squares = 0;
  double parts = 0;
  for (const SampleSummary* side : {&*before, &*now}) {
    const double n = static_cast<double>(side->count());
    const double relative = side->stddev_s() / side->mean_s();
    const double square = relative * relative / n;
    squares += square;
    parts += square * square / (n - 1);
  }
  // Welch's test: both sides have a variance of their own.
  shift.error = std::sqrt(squares);
  shift.df = squares * squares / parts;
  return shift;
}

void SuiteNoise::Add(const std::string& metric, const Shift& shift) {
  shifts_[metric].push_back(shift);
}

Shift SuiteNoise::Moderate(const std::string& metric,
                           const Shift& shift) const {
  const auto found = shifts_.find(metric);
  if (found == shifts_.end() || found->second.size() < kFewestJobs) {
    return shift;
  }
  std::vector<double> logs;
  std::vector<double> squares;
  for (const Shift& other : found->second) {
    logs.push_back(other.log);
    if (other.df > 0) squares.push_back(other.error * other.error);
  }
  Shift moderated = shift;
  if (!squares.empty()) {
    const double usual = SelectQuantile(absl::MakeSpan(squares), 0.5);
    if (usual > shift.error * shift.error) {
      moderated.df = shift.df + kUsualDf;
      moderated.error =
          std::sqrt((shift.df * shift.error * shift.error + kUsualDf * usual) /
                    moderated.df);
    }
  }
  const double middle = SelectQuantile(absl::MakeSpan(logs), 0.5);
  for (double& log : logs) log = std::abs(log - middle);
  const double scatter = kNormal * SelectQuantile(absl::MakeSpan(logs), 0.5);
  if (scatter > moderated.error) {
    moderated.error = scatter;
    // A median distance knows the scatter about as well as a third of the
    // values would.
    moderated.df = logs.size() / 3.0;
  }
  // Outliers of single runs are heavy-tailed.
  if (shift.single_runs) moderated.df = std::min(moderated.df, kSingleDf);
  return moderated;
}

}  // namespace feedrate
