#include "lib/analysis/aggregate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
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
#include "lib/analysis/any_row_reader.h"
#include "lib/analysis/compare_groups.h"
#include "lib/analysis/line_blocks.h"
#include "lib/analysis/printed_row_reader.h"
#include "lib/analysis/printed_value.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_groups.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_paths.h"
#include "lib/analysis/row_steps.h"
#include "lib/base/status_macros.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// A second thread pays from here on.
constexpr int64_t kBytesPerThread = 2 << 20;

constexpr size_t kPadding = std::max(kPrintedPadding, AnyRowReader::kPadding);

// Something to say about a line, once it is known which line of the file.
struct Complaint {
  size_t input;
  int64_t block;
  int64_t line;
  std::string text;
};

// Reads blocks until there are none. Runs in its own thread.
class BlockWorker {
 public:
  BlockWorker(const Query* query, LineBlocks* blocks, RowLog* log)
      : blocks_(blocks),
        log_(log),
        // A filter that has to be asked for each row wants whole rows.
        by_message_(!query->filter_by_group),
        steps_(*query),
        printed_(&steps_, query->slots.size(), log),
        any_(&steps_, query->slots.size(), log),
        thorough_(
            [this](absl::string_view record, JsonReader& json) {
              return AddRecord(record, json);
            },
            [this](const std::string& text) {
              complaints_.push_back({block_.input, block_.number, line_, text});
            }) {}

  void Run() {
    while (blocks_->Next(&block_)) {
      line_ = 0;
      // Only an input that somebody is still writing ends without a newline.
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
  std::vector<std::tuple<size_t, int64_t, int64_t>> lines_;
};

using Workers = std::vector<std::unique_ptr<BlockWorker>>;

// All complaints with their places, in the order of inputs and lines.
std::vector<std::string> Placed(const Workers& workers,
                                const LineBlocks& blocks) {
  std::vector<std::tuple<size_t, int64_t, int64_t>> lines;
  std::vector<Complaint> complaints;
  for (const std::unique_ptr<BlockWorker>& worker : workers) {
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
  for (const Complaint& complaint : complaints) {
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
  // One for each thread that reads; the first also for Add.
  std::vector<std::unique_ptr<RowLog>> logs_;
  int64_t broken_lines_ = 0;
};

}  // namespace

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
