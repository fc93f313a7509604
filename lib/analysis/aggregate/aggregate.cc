#include "lib/analysis/aggregate/aggregate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_reader.h"
#include "lib/analysis/rows/row_templates.h"
#include "lib/base/status_macros.h"
#include "lib/base/threads.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

// A second thread is worth it from this size on.
constexpr int64_t kBytesPerThread = 2 << 20;

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
        by_message_(query->needs_messages),
        steps_(*query),
        fast_(&steps_, query->slots.size(), log),
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
      const char* at = block_.lines.data();
      const char* const end = at + block_.lines.size();
      // An input that is still being written ends without a newline.
      const char* const whole =
          by_message_ ? at : at + (block_.lines.rfind('\n') + 1);
      while (at < end) {
        ++line_;
        const char* newline = at < whole ? fast_.Read(at, whole) : nullptr;
        at = newline != nullptr ? newline + 1 : ReadUnusual(at, end);
      }
      lines_.emplace_back(block_.input, block_.number, line_);
    }
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
  const RecordReader& thorough() const { return thorough_; }

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
    thorough_.ReadLine(line, /*place=*/"",
                       /*is_unfinished=*/newline == nullptr);
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
  RowReader fast_;
  RecordReader thorough_;
  LineBlock block_;
  Row row_;
  int64_t line_ = 0;
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
                     LineBlocks::Open(std::move(files), kScanPadding));
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
    // Blocks that a helper does not take are left to the others.
    const auto help = [&workers](int64_t i) { workers[i + 1]->Run(); };
    std::vector<std::thread> helpers =
        StartThreads(static_cast<int64_t>(threads) - 1, help);
    workers[0]->Run();
    for (std::thread& helper : helpers) helper.join();
    RETURN_IF_ERROR(blocks.status());
    for (const std::unique_ptr<BlockWorker>& worker : workers) {
      broken_lines_ += worker->thorough().broken_lines();
      refused_records_ += worker->thorough().refused_records();
    }
    if (options_.complain != nullptr) {
      for (const std::string& text : Placed(workers, blocks)) {
        options_.complain(text);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Add(const Row& row) override { return logs_[0]->Add(row); }

  absl::StatusOr<AggregateResult> Finish() override {
    ASSIGN_OR_RETURN(
        const RowGroups groups,
        GroupRows(query_, std::move(logs_), options_.threads, options_.split));
    ASSIGN_OR_RETURN(AggregateResult result,
                     CompareGroups(query_, groups, options_));
    result.rows = groups.rows;
    result.used = groups.used;
    result.duplicates = groups.duplicates;
    result.broken_lines = broken_lines_;
    result.refused_records = refused_records_;
    return result;
  }

 private:
  AggregateOptions options_;
  const Query query_;
  // One per reading thread. The first is also used by Add.
  std::vector<std::unique_ptr<RowLog>> logs_;
  int64_t broken_lines_ = 0;
  int64_t refused_records_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowAggregator>> RowAggregator::Create(
    AggregateOptions options) {
  ASSIGN_OR_RETURN(Query query, MakeQuery(options.by, options.where,
                                          options.mix, options.metric));
  if (!options.relative_to.empty() &&
      std::find(options.by.begin(), options.by.end(), "library") ==
          options.by.end()) {
    return absl::InvalidArgumentError(
        "--relative_to compares libraries; add library to --by");
  }
  if (!options.relative_to.empty() && !query.is_throughput) {
    return absl::InvalidArgumentError(
        "--relative_to compares throughputs; leave out --metric");
  }
  return std::unique_ptr<RowAggregator>(
      std::make_unique<Aggregator>(std::move(options), std::move(query)));
}

}  // namespace feedrate
