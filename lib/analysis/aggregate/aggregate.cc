#include "lib/analysis/aggregate/aggregate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_readers.h"
#include "lib/analysis/rows/row_templates.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/base/status_macros.h"
#include "lib/records/job.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr char kLibrary[] = "library";
constexpr char kTransform[] = "transform";

using Block = std::vector<Aggregate*>;

// The weakest of the labels.
std::string LeastEquivalence(const std::set<std::string>& labels) {
  for (const char* label :
       {"", "different", "noop", "unchecked", "equivalent"}) {
    if (labels.count(label) > 0) return label;
  }
  return labels.empty() ? "" : *labels.begin();
}

std::string StatusOf(const RowGroup& group) {
  if (group.summary.n > 0) return "ok";
  for (const char* status : {"early_stopped", "unsupported"}) {
    for (const auto& ended : group.ended) {
      if (ended.first.first == status) return status;
    }
  }
  return "failed";
}

void FillStatistics(const RowGroup& group, double unstable_cv, Aggregate* out) {
  const Summary& summary = group.summary;
  out->set_median(summary.median);
  out->set_mean(summary.mean);
  out->set_sd(summary.sd);
  out->set_cv(summary.cv);
  out->set_min(summary.min);
  out->set_max(summary.max);
  const bool few = summary.n < kManyRuns;
  if (summary.interval.has_value()) {
    ConfidenceInterval& interval = *out->mutable_interval();
    interval.set_low(summary.interval->low);
    interval.set_high(summary.interval->high);
    interval.set_method(few ? "log_t" : "order_statistics");
    if (few) out->add_flags("few_runs");
  }
  if (!group.ended.empty()) out->add_flags("incomplete");
  if (summary.cv > unstable_cv) out->add_flags("unstable");
  if (group.rows_with_samples == summary.n) {
    out->set_p50_s(group.samples.Quantile(0.5));
    out->set_p90_s(group.samples.Quantile(0.9));
    out->set_p99_s(group.samples.Quantile(0.99));
  }
  out->set_equivalence(LeastEquivalence(group.equivalence));
}

Aggregate ToRecord(const Query& query, const RowGroup& group,
                   const AggregateOptions& options) {
  Aggregate out;
  for (size_t i = 0; i < query.by_count; ++i) {
    (*out.mutable_by())[query.fields[i].name] = ValueText(group.by[i]);
  }
  for (size_t i = 0; i < query.held.size(); ++i) {
    const std::string text = ValueText(group.held[i]);
    if (text == "-") continue;
    (*out.mutable_held())[query.fields[query.held[i]].name] = text;
  }
  out.set_status(StatusOf(group));
  out.set_runs(group.summary.n);
  out.set_retries(group.retries);
  out.set_unit(group.unit);
  for (const auto& [key, runs] : group.ended) {
    EndedRuns& ended = *out.add_ended();
    ended.set_status(key.first);
    ended.set_reason(key.second);
    ended.set_runs(runs);
    if (key.first == "early_stopped") {
      out.set_slow_marker(
          options.slow_marker == nullptr
              ? "slow"
              : options.slow_marker(group.scenario, group.unit));
    }
  }
  if (group.summary.n > 0) {
    FillStatistics(group, options.unstable_cv, &out);
  }
  return out;
}

void Rank(const Block& block) {
  std::map<int, int> count;
  for (Aggregate* one : block) {
    if (!one->has_interval()) continue;
    int rank = 1;
    for (const Aggregate* other : block) {
      if (other->has_interval() &&
          other->interval().low() > one->interval().high()) {
        ++rank;
      }
    }
    one->set_rank(rank);
    ++count[rank];
  }
  for (Aggregate* one : block) {
    if (one->has_rank()) one->set_tied(count[one->rank()] > 1);
  }
}

bool SameWork(const Aggregate& aggregate) {
  return aggregate.equivalence() == "exact" ||
         aggregate.equivalence() == "equivalent";
}

std::string WorkOf(const Aggregate& aggregate) {
  return absl::StrCat(aggregate.by().at(kLibrary), " is ",
                      aggregate.equivalence().empty()
                          ? "not checked"
                          : aggregate.equivalence());
}

// Why there is no ratio; empty if there is one.
std::string NotComparable(const Aggregate& one, const Aggregate* reference,
                          const AggregateOptions& options) {
  if (reference == nullptr) {
    return absl::StrCat("no row of ", options.relative_to);
  }
  if (!reference->has_median()) {
    return absl::StrCat(options.relative_to, " is ", reference->status());
  }
  if (!one.has_median()) return one.status();
  if (reference->median() <= 0 || one.median() <= 0) return "no throughput";
  if (options.any_work || &one == reference) return "";
  if (!SameWork(*reference)) return WorkOf(*reference);
  if (!SameWork(one)) return WorkOf(one);
  return "";
}

Interval ToInterval(const ConfidenceInterval& record) {
  return {record.low(), record.high()};
}

void SpeedUps(const Block& block, const AggregateOptions& options) {
  const auto found =
      std::find_if(block.begin(), block.end(), [&](const Aggregate* aggregate) {
        return aggregate->by().at(kLibrary) == options.relative_to;
      });
  const Aggregate* reference = found == block.end() ? nullptr : *found;
  for (Aggregate* one : block) {
    SpeedUp& speed_up = *one->mutable_speed_up();
    speed_up.set_relative_to(options.relative_to);
    speed_up.set_reason(NotComparable(*one, reference, options));
    if (!speed_up.reason().empty()) continue;
    speed_up.set_ratio(one->median() / reference->median());
    if (one == reference || !one->has_interval() ||
        !reference->has_interval()) {
      continue;
    }
    const Interval interval =
        RatioInterval(one->median(), ToInterval(one->interval()),
                      reference->median(), ToInterval(reference->interval()));
    speed_up.set_low(interval.low);
    speed_up.set_high(interval.high);
  }
}

// One mean per library and values of `by` other than the transform.
std::vector<MeanSpeedUp> Means(const std::vector<Aggregate>& aggregates,
                               const std::string& relative_to) {
  struct Ratios {
    MeanSpeedUp mean;
    std::vector<double> ratios;
  };
  std::map<std::string, Ratios> all;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.by().at(kLibrary) == relative_to) continue;
    std::map<std::string, std::string> shared(aggregate.by().begin(),
                                              aggregate.by().end());
    shared.erase(kLibrary);
    shared.erase(kTransform);
    std::string key;
    for (const auto& [name, text] : shared) {
      AppendKey(name, &key);
      AppendKey(text, &key);
    }
    AppendKey(aggregate.by().at(kLibrary), &key);
    Ratios& entry = all[key];
    entry.mean.set_library(aggregate.by().at(kLibrary));
    entry.mean.set_relative_to(relative_to);
    for (const auto& [name, text] : shared) {
      (*entry.mean.mutable_by())[name] = text;
    }
    if (aggregate.speed_up().has_ratio()) {
      entry.ratios.push_back(aggregate.speed_up().ratio());
    } else {
      entry.mean.set_left_out(entry.mean.left_out() + 1);
    }
  }
  std::vector<MeanSpeedUp> means;
  for (auto& [key, entry] : all) {
    entry.mean.set_rows(static_cast<int64_t>(entry.ratios.size()));
    if (!entry.ratios.empty()) {
      entry.mean.set_ratio(GeometricMean(entry.ratios));
      const auto interval = GeometricMeanInterval(entry.ratios);
      if (interval.has_value()) {
        entry.mean.set_low(interval->low);
        entry.mean.set_high(interval->high);
      }
    }
    means.push_back(std::move(entry.mean));
  }
  return means;
}

// Turns groups into records, with ranks and, if requested, speed-ups. Compares
// only groups that agree in everything except the library and its version.
AggregateResult CompareGroups(const Query& query, const RowGroups& groups,
                              const AggregateOptions& options) {
  AggregateResult result;
  result.aggregates.reserve(groups.groups.size());
  for (const RowGroup& group : groups.groups) {
    result.aggregates.push_back(ToRecord(query, group, options));
  }
  if (std::find(options.by.begin(), options.by.end(), kLibrary) ==
      options.by.end()) {
    return result;
  }
  std::map<std::string, Block> blocks;
  for (Aggregate& aggregate : result.aggregates) {
    blocks[BlockOf(aggregate)].push_back(&aggregate);
  }
  for (const auto& [key, block] : blocks) {
    Rank(block);
    if (!options.relative_to.empty()) SpeedUps(block, options);
  }
  if (!options.relative_to.empty()) {
    result.means = Means(result.aggregates, options.relative_to);
  }
  return result;
}

// A second thread is worth it from this size on.
constexpr int64_t kBytesPerThread = 2 << 20;

constexpr size_t kPadding = std::max(kPrintedPadding, AnyRowReader::kPadding);

// A problem in a line, whose number in the file is not known yet.
struct Complaint {
  size_t input;
  int64_t block;
  int64_t line;
  std::string text;
};

// Reads blocks until there are none left. Runs in its own thread.
class BlockWorker {
 public:
  BlockWorker(const Query* query, LineBlocks* blocks, RowLog* log)
      : blocks_(blocks),
        log_(log),
        // A filter that is evaluated for each row needs whole rows.
        by_message_(!query->filter_by_group),
        steps_(*query),
        printed_(&steps_, query->slots.size(), log),
        any_(&steps_, query->slots.size(), log),
        thorough_([this](absl::string_view record,
                         JsonReader& json) { return AddRecord(record, json); },
                  [this](const std::string& text) {
                    // Blocks come in order, so the first of a file are among
                    // these.
                    if (++complaint_counts_[block_.input] <=
                        RecordReader::kMostComplaints) {
                      complaints_.push_back(
                          {block_.input, block_.number, line_, text});
                    }
                  },
                  std::numeric_limits<int64_t>::max()) {}

  void Run() {
    while (blocks_->Next(&block_)) {
      line_ = 0;
      // Only an input that is still being written ends without a newline.
      const bool is_whole =
          !block_.lines.empty() && block_.lines.back() == '\n' && !by_message_;
      const char* at = block_.lines.data();
      const char* const end = at + block_.lines.size();
      while (at < end) {
        ++line_;
        const char* newline = is_whole ? printed_.Read(at, end) : nullptr;
        at = newline != nullptr ? newline + 1 : ReadUnusual(at, end);
      }
      lines_.emplace_back(block_.input, block_.number, line_);
    }
    broken_lines_ = thorough_.broken_lines();
  }

  const std::vector<Complaint>& complaints() const { return complaints_; }
  // By input, also of those that are not kept.
  const std::map<size_t, int64_t>& complaint_counts() const {
    return complaint_counts_;
  }
  // Input, block, number of lines.
  const std::vector<std::tuple<size_t, int64_t, int64_t>>& lines() const {
    return lines_;
  }
  int64_t broken_lines() const { return broken_lines_; }

 private:
  // Returns where the next line starts.
  const char* ReadUnusual(const char* at, const char* end) {
    const size_t left = static_cast<size_t>(end - at);
    const void* newline = std::memchr(at, '\n', left);
    const size_t length =
        newline == nullptr
            ? left
            : static_cast<size_t>(static_cast<const char*>(newline) - at);
    const absl::string_view line(at, length);
    if (by_message_ || !any_.Read(line)) {
      thorough_.ReadLine(line, /*place=*/"",
                         /*is_unfinished=*/newline == nullptr);
    }
    return newline == nullptr ? end : at + length + 1;
  }

  absl::Status AddRecord(absl::string_view record, JsonReader& json) {
    if (record != "row") return absl::OkStatus();
    RETURN_IF_ERROR(json.Read(&row_));
    return log_->Add(row_);
  }

  LineBlocks* const blocks_;
  RowLog* const log_;
  const bool by_message_;
  const RowSteps steps_;
  PrintedRowReader printed_;
  AnyRowReader any_;
  RecordReader thorough_;
  LineBlock block_;
  Row row_;
  int64_t line_ = 0;
  int64_t broken_lines_ = 0;
  std::vector<Complaint> complaints_;
  std::map<size_t, int64_t> complaint_counts_;
  std::vector<std::tuple<size_t, int64_t, int64_t>> lines_;
};

using Workers = std::vector<std::unique_ptr<BlockWorker>>;

// The first complaints about each input with their places, sorted by input and
// line, and how many more there are.
std::vector<std::string> Placed(const Workers& workers,
                                const LineBlocks& blocks) {
  std::vector<std::tuple<size_t, int64_t, int64_t>> lines;
  std::vector<Complaint> complaints;
  std::map<size_t, int64_t> counts;
  for (const std::unique_ptr<BlockWorker>& worker : workers) {
    for (const auto& [input, count] : worker->complaint_counts()) {
      counts[input] += count;
    }
    lines.insert(lines.end(), worker->lines().begin(), worker->lines().end());
    complaints.insert(complaints.end(), worker->complaints().begin(),
                      worker->complaints().end());
  }
  std::sort(lines.begin(), lines.end());
  std::sort(complaints.begin(), complaints.end(),
            [](const Complaint& a, const Complaint& b) {
              return std::tie(a.input, a.block, a.line) <
                     std::tie(b.input, b.block, b.line);
            });
  std::vector<std::string> placed;
  size_t next = 0;
  size_t input = ~size_t{0};
  int64_t before = 0;
  int64_t shown = 0;
  for (size_t i = 0; i < complaints.size(); ++i) {
    const Complaint& complaint = complaints[i];
    shown = i > 0 && complaints[i - 1].input == complaint.input ? shown + 1 : 1;
    if (shown > RecordReader::kMostComplaints) continue;
    for (; next < lines.size(); ++next) {
      const auto& [block_input, block, count] = lines[next];
      if (block_input != input) {
        input = block_input;
        before = 0;
      }
      if (block_input == complaint.input && block == complaint.block) break;
      before += count;
    }
    placed.push_back(absl::StrCat(blocks.name(complaint.input), ":",
                                  before + complaint.line, complaint.text));
    const int64_t more = counts[complaint.input] - shown;
    if (shown == RecordReader::kMostComplaints && more > 0) {
      placed.push_back(absl::StrCat(blocks.name(complaint.input), ": ", more,
                                    " more broken ",
                                    more == 1 ? "line" : "lines"));
    }
  }
  return placed;
}

class Aggregator : public RowAggregator {
 public:
  Aggregator(AggregateOptions options, Query query)
      : options_(std::move(options)), query_(std::move(query)) {
    if (options_.threads <= 0) {
      options_.threads =
          std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    }
    logs_.push_back(std::make_unique<RowLog>(&query_));
  }

  absl::Status ReadPaths(const std::vector<std::string>& paths) override {
    ASSIGN_OR_RETURN(std::vector<std::string> files,
                     ExpandPaths(paths, {".jsonl"}));
    ASSIGN_OR_RETURN(LineBlocks blocks,
                     LineBlocks::Open(std::move(files), kPadding));
    const int64_t useful = blocks.has_streams()
                               ? options_.threads
                               : 1 + blocks.bytes() / kBytesPerThread;
    const size_t threads =
        static_cast<size_t>(std::min<int64_t>(options_.threads, useful));
    while (logs_.size() < threads) {
      logs_.push_back(std::make_unique<RowLog>(&query_));
    }
    Workers workers;
    for (size_t i = 0; i < threads; ++i) {
      workers.push_back(
          std::make_unique<BlockWorker>(&query_, &blocks, logs_[i].get()));
    }
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < threads; ++i) {
      helpers.emplace_back([&workers, i] { workers[i]->Run(); });
    }
    workers[0]->Run();
    for (std::thread& helper : helpers) helper.join();
    for (const std::unique_ptr<BlockWorker>& worker : workers) {
      broken_lines_ += worker->broken_lines();
    }
    if (options_.complain != nullptr) {
      for (const std::string& text : Placed(workers, blocks)) {
        options_.complain(text);
      }
    }
    return blocks.status();
  }

  absl::Status Add(const Row& row) override { return logs_[0]->Add(row); }

  absl::StatusOr<AggregateResult> Finish() override {
    ASSIGN_OR_RETURN(const RowGroups groups,
                     GroupRows(query_, std::move(logs_), options_.threads));
    AggregateResult result = CompareGroups(query_, groups, options_);
    result.rows = groups.rows;
    result.used = groups.used;
    result.duplicates = groups.duplicates;
    result.broken_lines = broken_lines_;
    return result;
  }

 private:
  AggregateOptions options_;
  const Query query_;
  // One per reading thread. The first is also used by Add.
  std::vector<std::unique_ptr<RowLog>> logs_;
  int64_t broken_lines_ = 0;
};

}  // namespace

std::string BlockOf(const Aggregate& aggregate) {
  std::map<std::string, std::string> shared(aggregate.by().begin(),
                                            aggregate.by().end());
  shared.insert(aggregate.held().begin(), aggregate.held().end());
  shared.erase(kLibrary);
  shared.erase("library_version");
  std::string key;
  for (const auto& [name, text] : shared) {
    AppendKey(name, &key);
    AppendKey(text, &key);
  }
  return key;
}

absl::StatusOr<std::unique_ptr<RowAggregator>> RowAggregator::Create(
    AggregateOptions options) {
  ASSIGN_OR_RETURN(Query query,
                   MakeQuery(options.by, options.where, options.mix));
  if (!options.relative_to.empty() &&
      std::find(options.by.begin(), options.by.end(), "library") ==
          options.by.end()) {
    return absl::InvalidArgumentError(
        "--relative_to compares libraries; add library to --by");
  }
  return std::unique_ptr<RowAggregator>(
      std::make_unique<Aggregator>(std::move(options), std::move(query)));
}

}  // namespace feedrate
