#include "lib/gate/stored_runs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/text.h"
#include "lib/imports/imports.h"
#include "lib/records/attempts.h"
#include "lib/records/train.pb.h"
#include "lib/stats/quantiles.h"

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

using Path = std::vector<const FieldDescriptor*>;

// Calls `found` for each numeric field of `type` and its messages, with the
// fields that lead to it.
void ForEachNumber(
    const google::protobuf::Descriptor& type, const std::string& prefix,
    Path* path,
    const std::function<void(const std::string& name, const Path&)>& found) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    const std::string name = absl::StrCat(prefix, field.name());
    path->push_back(&field);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        ForEachNumber(*field.message_type(), name + ".", path, found);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
      case FieldDescriptor::CPPTYPE_BOOL:
      case FieldDescriptor::CPPTYPE_ENUM:
        break;
      default:
        found(name, *path);
    }
    path->pop_back();
  }
}

// Absent if the message, or one on the way to the field, does not have it.
absl::optional<double> NumberAt(const Message& row, const Path& path) {
  const Message* message = &row;
  for (const FieldDescriptor* const field : path) {
    const google::protobuf::Reflection& r = *message->GetReflection();
    if (field->has_presence() && !r.HasField(*message, field)) {
      return absl::nullopt;
    }
    if (field == path.back()) break;
    message = &r.GetMessage(*message, field);
  }
  return NumberOf(*message, *path.back());
}

}  // namespace

const std::vector<std::string>& MetricNames() {
  static const auto* const kNames = [] {
    auto* const names = new std::vector<std::string>;
    Path path;
    for (const auto* const type :
         {Row::descriptor(), Train::descriptor(), Eval::descriptor()}) {
      ForEachNumber(*type, "", &path,
                    [names](const std::string& name, const Path&) {
                      names->push_back(name);
                    });
    }
    return names;
  }();
  return *kNames;
}

RowMetrics::RowMetrics(std::function<bool(const std::string&)> wanted)
    : wanted_(std::move(wanted)) {
  Path path;
  ForEachNumber(*Row::descriptor(), "", &path,
                [this](const std::string& name, const Path& to) {
                  if (wanted_(name)) fields_.push_back({name, to});
                });
}

RunValues RowMetrics::ValuesOf(const std::vector<Row>& rows) const {
  RunValues values;
  for (const Row& row : rows) {
    if (row.status() != "ok") continue;
    for (const auto& [name, path] : fields_) {
      const absl::optional<double> number = NumberAt(row, path);
      if (number && std::isfinite(*number)) values[name].push_back(*number);
    }
    for (const auto& counter : row.counters()) {
      const std::string name = absl::StrCat(kCounterPrefix, counter.first);
      if (wanted_(name)) values[name].push_back(counter.second);
    }
  }
  return values;
}

RunValues ValuesOfRows(const std::vector<Row>& rows) {
  static const auto* const kAll =
      new RowMetrics([](const std::string&) { return true; });
  return kAll->ValuesOf(rows);
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
  const std::string first = ExecutionOf(runs[0]);
  return !first.empty() &&
         std::all_of(runs.begin(), runs.end(), [&first](const Row& row) {
           return ExecutionOf(row) == first;
         });
}

std::string ExecutionOf(const Row& row) {
  if (!IsImported(row)) return row.run_id();
  const std::string& harness = row.mode();
  if (harness == "hyperfine" || harness == "pyperf" || harness == "jmh") {
    return absl::StrCat(row.run_id(), " process ", row.run_index());
  }
  return row.run_id().empty() ? "one process" : row.run_id();
}

std::vector<std::string> ExecutionsOf(const std::vector<Row>& rows) {
  std::vector<std::string> executions;
  for (const Row& row : rows) {
    if (row.status() == "ok") executions.push_back(ExecutionOf(row));
  }
  return executions;
}

bool JobRuns::IsClean() const {
  return std::all_of(runs.begin(), runs.end(), [](const Row& row) {
    return DisturbancesOf(row).empty();
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

RunsByJob GroupRuns(std::vector<Row> rows, bool all_executions) {
  std::vector<Row*> sorted;
  for (Row& row : rows) sorted.push_back(&row);
  const auto before = [](const Row* a, const Row* b) {
    return std::forward_as_tuple(a->job_id(), a->run_index(), a->attempt()) <
           std::forward_as_tuple(b->job_id(), b->run_index(), b->attempt());
  };
  std::stable_sort(sorted.begin(), sorted.end(), before);
  RunsByJob by_job;
  for (auto first = sorted.begin(), last = first; first != sorted.end();
       first = last) {
    // The attempts at a run.
    last = std::find_if(first, sorted.end(), [first](const Row* row) {
      return row->job_id() != (*first)->job_id() ||
             row->run_index() != (*first)->run_index();
    });
    JobRuns& job = by_job.try_emplace(by_job.end(), (*first)->job_id())->second;
    const int run_index = (*first)->run_index();
    const std::vector<Row*> tries(first, last);
    if (tries.size() == 1) {
      job.runs.push_back(std::move(*tries[0]));
      continue;
    }
    // By version, data and processors. A run that failed may not have said what
    // it measured, so it is an attempt at any of them.
    std::map<std::tuple<std::string, std::string, int>, Row*> best;
    const auto measured_by = [](const Row& row) {
      return std::make_tuple(row.library_version(), row.dataset().sha256(),
                             row.usable_cpus());
    };
    for (Row* row : tries) {
      if (row->status() != "ok") continue;
      Row*& kept = best[measured_by(*row)];
      if (!kept || AttemptRank(*row) <= AttemptRank(*kept)) kept = row;
    }
    if (best.empty()) {
      for (Row* row : tries) {
        Row*& kept = best[{}];
        if (!kept || AttemptRank(*row) <= AttemptRank(*kept)) kept = row;
      }
    }
    if (best.size() == 1 && best.begin()->second != tries.back()) {
      job.not_last.push_back(absl::StrCat("run ", run_index, ": attempt ",
                                          best.begin()->second->attempt(),
                                          " of ", tries.size()));
    }
    std::vector<Row*> counted;
    for (const auto& chosen : best) counted.push_back(chosen.second);
    for (Row* row : tries) {
      const auto chosen = best.find(measured_by(*row));
      if (all_executions && chosen != best.end() && row->status() == "ok" &&
          row->run_id() != chosen->second->run_id() &&
          DisturbancesOf(*row).empty()) {
        counted.push_back(row);
      }
    }
    for (Row* row : counted) job.runs.push_back(std::move(*row));
  }
  return by_job;
}

}  // namespace

RunsByJob CleanestAttempts(std::vector<Row> rows) {
  return GroupRuns(std::move(rows), /*all_executions=*/false);
}

RunsByJob RunsOfAllExecutions(std::vector<Row> rows) {
  return GroupRuns(std::move(rows), /*all_executions=*/true);
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

// Whether there is nothing to tell apart, as for most jobs.
template <typename Of>
bool AllSame(const std::vector<Row>& current, const std::vector<Row>& baseline,
             const Of& of) {
  absl::optional<std::string> first;
  for (const std::vector<Row>* const side : {&current, &baseline}) {
    for (const Row& row : *side) {
      if (row.status() != "ok") continue;
      const std::string value = of(row);
      if (!first) first = value;
      if (value != *first) return false;
    }
  }
  return true;
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
std::string ProcessorsOf(const Row& row) {
  return row.has_usable_cpus() ? Counted(row.usable_cpus(), "processor")
                               : "all processors";
}

}  // namespace

absl::optional<Mismatch> FindMismatch(const std::vector<Row>& current,
                                      const std::vector<Row>& baseline,
                                      bool any_version) {
  if (AllSame(current, baseline, VersionOf) &&
      AllSame(current, baseline, DataOf) &&
      AllSame(current, baseline, PageCacheOf) &&
      AllSame(current, baseline, ProcessorsOf)) {
    return absl::nullopt;
  }
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
  const std::set<std::string> cpus = Distinct(current, ProcessorsOf);
  const std::set<std::string> stored_cpus = Distinct(baseline, ProcessorsOf);
  if (Differ(cpus, stored_cpus)) {
    return Mismatch{
        "other_cpus",
        absl::StrCat("the baseline was measured on ",
                     absl::StrJoin(stored_cpus, " and "), ", the rows on ",
                     absl::StrJoin(cpus, " and "))};
  }
  return absl::nullopt;
}

std::string IdentityDifference(const Row& current, const Row& baseline) {
  std::vector<std::string> parts;
  const auto compare = [&parts](const char* name, const auto& now,
                                const auto& stored) {
    if (now == stored) return;
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

}  // namespace feedrate
