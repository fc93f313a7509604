#include "lib/imports/imports.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/imports/albumentations.h"
#include "lib/imports/harnesses.h"
#include "lib/records/job_identity.h"
#include "lib/stats/quantiles.h"
#include "simdjson.h"

namespace feedrate {
namespace {

constexpr size_t kHead = 1 << 16;
// All names in one row. Many rows may share a name that is in the file once, so
// that longer ones would take time out of proportion to the file.
constexpr size_t kMaxNameBytes = 1 << 14;
constexpr char kAlbumentations[] = "albumentations";
// Endings of the files in a folder that may be results.
constexpr const char* kEndings[] = {".json", ".csv", ".xml", ".txt"};

// The keys of the objects in the head of a JSON text as `DEPTH:KEY`, down to
// the third level. Lists count as levels.
std::set<std::string> KeysOf(absl::string_view head) {
  std::set<std::string> keys;
  int depth = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    const char c = head[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const size_t start = ++i;
    while (i < head.size() && head[i] != '"') i += head[i] == '\\' ? 2 : 1;
    if (i >= head.size() || depth > 3) continue;
    size_t next = i + 1;
    while (next < head.size() && absl::ascii_isspace(head[next])) ++next;
    if (next < head.size() && head[next] == ':') {
      keys.insert(absl::StrCat(depth, ":", head.substr(start, i - start)));
    }
  }
  return keys;
}

// Keys that no other harness has together.
const std::vector<std::pair<std::string, std::vector<const char*>>>&
KeysOfHarnesses() {
  static const auto* const kKeys =
      new std::vector<std::pair<std::string, std::vector<const char*>>>{
          {"google_benchmark", {"1:context", "2:executable"}},
          {"google_benchmark", {"1:context", "1:benchmarks", "2:num_cpus"}},
          {"pytest_benchmark", {"1:machine_info", "2:python_version"}},
          {"pyperf", {"1:benchmarks", "3:runs"}},
          {"hyperfine", {"1:results", "3:command", "3:mean"}},
          {"nvbench", {"1:devices", "1:benchmarks", "3:axes"}},
          {"nvbench", {"1:meta", "1:devices", "3:sm_version"}},
          {"asv", {"1:commit_hash", "1:params", "2:machine"}},
          {"criterion", {"1:sampling_mode", "1:iters"}},
          {"criterion", {"1:mean", "2:point_estimate"}},
          {"jmh", {"2:benchmark", "2:primaryMetric"}},
          {"jmh", {"2:benchmark", "2:jmhVersion"}},
      };
  return *kKeys;
}

bool IsGoLine(absl::string_view line) {
  if (!absl::StartsWith(line, "Benchmark")) return false;
  return absl::StrContains(line, " ns/op") ||
         absl::StrContains(line, "\tns/op");
}

std::string DetectText(absl::string_view head) {
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(head, '\n')) {
    if (absl::StartsWith(line, "goos: ") || IsGoLine(line)) return "go";
    if (is_first && absl::StartsWith(line, "Benchmark,Device,Device Name,")) {
      return "nvbench";
    }
    if (is_first && IsTimedHeader(line)) return "csv";
    is_first = false;
  }
  return "";
}

// The beginning of a file.
std::string ReadHead(int fd) {
  std::string head(kHead, '\0');
  const ssize_t got = pread(fd, &head[0], head.size(), 0);
  head.resize(std::max<ssize_t>(got, 0));
  return head;
}

// The beginning of a pipe, which stays in the pipe.
std::string PeekPipe(int fd) {
  int copy[2];
  if (pipe2(copy, O_CLOEXEC) != 0) return "";
  const UniqueFd out(copy[0]);
  const UniqueFd in(copy[1]);
  ssize_t got;
  do {
    got = tee(fd, in.get(), kHead, 0);
  } while (got < 0 && errno == EINTR);
  std::string head(std::max<ssize_t>(got, 0), '\0');
  const ssize_t read_back = read(out.get(), &head[0], head.size());
  head.resize(std::max<ssize_t>(read_back, 0));
  return head;
}

// The harness that writes into a pipe. A writer may print its beginning piece
// by piece, so this looks again until there is enough to tell, for some
// seconds.
std::string DetectHarnessOfPipe(int fd) {
  constexpr int kLooks = 250;
  for (int look = 0; look < kLooks; ++look) {
    const std::string head = PeekPipe(fd);
    const std::string harness = DetectHarness(head);
    pollfd writer = {fd, POLLIN, 0};
    poll(&writer, 1, 0);
    const bool is_whole = head.empty() || head.size() >= kHead ||
                          (writer.revents & POLLHUP) != 0 ||
                          absl::StrContains(head, "\"record\"");
    if (!harness.empty() || is_whole) return harness;
    usleep(20000);
  }
  return "";
}

// The content of a file, or nothing.
std::string ContentOf(const std::string& path) {
  if (!PlainFileBytes(path).ok()) return "";
  absl::StatusOr<std::string> content = ReadFile(path);
  return content.ok() ? *std::move(content) : "";
}

// Folders of criterion with the results called `baseline`, sorted.
std::vector<std::string> CriterionFolders(const std::vector<std::string>& files,
                                          const std::string& baseline) {
  std::set<std::string> folders;
  for (const std::string& file : files) {
    const std::string folder = ParentFolder(file);
    const std::string name = BaseName(file);
    if (BaseName(folder) == baseline &&
        (name == "estimates.json" || name == "sample.json")) {
      folders.insert(folder);
    }
  }
  return {folders.begin(), folders.end()};
}

absl::StatusOr<std::vector<std::string>> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* ending : kEndings) {
    ASSIGN_OR_RETURN(const std::vector<std::string> found,
                     ListPlainFiles(folder, ending));
    files.insert(files.end(), found.begin(), found.end());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A folder, and the name of criterion's baseline in it.
struct ResultFolder {
  std::string folder;
  std::string baseline;
};

// Absent if the path is not a folder.
absl::optional<ResultFolder> AsFolder(const std::string& path) {
  if (IsFolder(path)) return ResultFolder{path, "new"};
  const size_t colon = path.rfind(':');
  if (colon == std::string::npos || !IsFolder(path.substr(0, colon))) {
    return absl::nullopt;
  }
  return ResultFolder{path.substr(0, colon), path.substr(colon + 1)};
}

absl::Status NoResult(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": not the result of a known harness; name it with --import=",
      absl::StrJoin(ImportNames(), "|")));
}

}  // namespace

bool IsImported(const Row& row) {
  return std::count(row.labels().begin(), row.labels().end(), kImportedLabel) >
         0;
}

const std::vector<std::string>& ImportNames() {
  static const auto* const kNames =
      new std::vector<std::string>{kAlbumentations,
                                   "google_benchmark",
                                   "pytest_benchmark",
                                   "pyperf",
                                   "hyperfine",
                                   "criterion",
                                   "nvbench",
                                   "asv",
                                   "jmh",
                                   "go",
                                   "catch2",
                                   "csv"};
  return *kNames;
}

std::string DetectHarness(absl::string_view text) {
  absl::string_view head = text.substr(0, kHead);
  absl::ConsumePrefix(&head, "\xef\xbb\xbf");
  head = absl::StripLeadingAsciiWhitespace(head);
  if (head.empty()) return "";
  if (head[0] == '<') {
    return absl::StrContains(head, "<Catch") ? "catch2" : "";
  }
  if (head[0] != '{' && head[0] != '[') return DetectText(head);
  const std::set<std::string> keys = KeysOf(head);
  if (keys.count("1:record") > 0) return "";
  for (const auto& [harness, wanted] : KeysOfHarnesses()) {
    const bool has_all =
        std::all_of(wanted.begin(), wanted.end(),
                    [&keys](const char* key) { return keys.count(key) > 0; });
    if (has_all) return harness;
  }
  return "";
}

std::string DetectHarnessOfPath(const std::string& path,
                                const std::string& wanted) {
  if (const absl::optional<ResultFolder> folder = AsFolder(path)) {
    const absl::StatusOr<std::vector<std::string>> files =
        FilesBelow(folder->folder);
    if (!files.ok()) return "";
    if (!CriterionFolders(*files, folder->baseline).empty()) {
      return "criterion";
    }
    for (const std::string& file : *files) {
      const std::string harness =
          wanted == kAlbumentations && IsAlbumentationsResult(file)
              ? wanted
              : DetectHarnessOfPath(file);
      if (!harness.empty() && (wanted.empty() || wanted == harness)) {
        return harness;
      }
    }
    return "";
  }
  struct stat info;
  if (path == "-") {
    if (fstat(STDIN_FILENO, &info) != 0) return "";
    if (S_ISFIFO(info.st_mode)) return DetectHarnessOfPipe(STDIN_FILENO);
    // Another process may have read a part of it, which is not looked at.
    if (!S_ISREG(info.st_mode)) return "";
    return DetectHarness(ReadHead(STDIN_FILENO));
  }
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.get() < 0 ? "" : DetectHarness(ReadHead(fd.get()));
}

absl::StatusOr<std::string> ReadStandardInput() {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::InternalError(
          absl::StrCat("standard input: ", std::strerror(errno)));
    }
    text.append(buffer, got);
  }
}

absl::Status Importer::ReadPath(const std::string& path) {
  if (const absl::optional<ResultFolder> folder = AsFolder(path)) {
    return ReadFolder(folder->folder, folder->baseline);
  }
  if (path == "-") {
    ASSIGN_OR_RETURN(const std::string content, ReadStandardInput());
    return ReadText("standard input", content, false);
  }
  // Large files are read without a copy.
  simdjson::padded_string padded;
  if (IsFile(path) &&
      simdjson::padded_string::load(path).get(padded) == simdjson::SUCCESS) {
    return ReadContent(path, {padded.data(), padded.size()}, true,
                       padded.data() + padded.size());
  }
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  return ReadText(path, content, true);
}

absl::Status Importer::ReadFolder(const std::string& folder,
                                  const std::string& baseline) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(folder));
  const std::vector<std::string> criterion =
      harness_.empty() || harness_ == "criterion"
          ? CriterionFolders(files, baseline)
          : std::vector<std::string>();
  ++files_;
  for (const std::string& results : criterion) {
    RowSink sink(this, "criterion", results, true);
    RETURN_IF_ERROR(
        ReadCriterion(results, ContentOf(JoinPath(results, "benchmark.json")),
                      ContentOf(JoinPath(results, "estimates.json")),
                      ContentOf(JoinPath(results, "sample.json")), &sink));
    RETURN_IF_ERROR(sink.problem());
  }
  if (!criterion.empty()) return absl::OkStatus();
  bool has_any = false;
  for (const std::string& file : files) {
    const std::string harness = DetectHarnessOfPath(file);
    const bool is_wanted =
        harness_ == kAlbumentations
            ? IsAlbumentationsResult(file)
            : !harness.empty() && (harness_.empty() || harness_ == harness) &&
                  harness != "criterion";
    if (!is_wanted) continue;
    has_any = true;
    RETURN_IF_ERROR(ReadPath(file));
  }
  if (has_any) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(folder, ": no result of ",
                   harness_.empty() ? std::string("a known harness") : harness_,
                   " in this folder", baseline == "new" ? "" : " called ",
                   baseline == "new" ? "" : baseline));
}

absl::Status Importer::ReadText(const std::string& name,
                                absl::string_view content,
                                bool may_read_files) {
  return ReadContent(name, content, may_read_files, nullptr);
}

absl::Status Importer::ReadContent(const std::string& name,
                                   absl::string_view content,
                                   bool may_read_files,
                                   const char* padded_end) {
  RETURN_IF_ERROR(CheckNotCompressed(name, content));
  std::string harness = harness_.empty() ? DetectHarness(content) : harness_;
  if (harness.empty()) return NoResult(name);
  if (harness == kAlbumentations) {
    return ImportAlbumentations(name, content, add_);
  }
  absl::string_view text = content;
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  text = absl::StripLeadingAsciiWhitespace(text);
  // Readers of text skip lines that they do not know.
  if (absl::StrContains(text, "\n{\"schema\":1,\"record\":\"")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": holds results of ", harness,
        " beside records of feedrate; keep each in a file of its own"));
  }
  ++files_;
  RowSink sink(this, harness, name, may_read_files, padded_end);
  const bool is_json = !text.empty() && (text[0] == '{' || text[0] == '[');
  if (harness == "go" || harness == "catch2" || harness == "csv" ||
      (harness == "nvbench" && !is_json)) {
    RETURN_IF_ERROR(feedrate::ReadText(harness, text, &sink));
  } else {
    RETURN_IF_ERROR(ReadJson(harness, text, &sink));
  }
  return sink.problem();
}

Row* RowSink::Start() {
  row_.Clear();
  row_.set_mode(harness_);
  row_.set_device("cpu");
  row_.set_status("ok");
  row_.set_unit("iteration");
  row_.set_timed_unit("item");
  row_.add_labels(kImportedLabel);
  return &row_;
}

absl::Status RowSink::Error(absl::string_view place,
                            absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(name_, place.empty() ? "" : ": ", place, ": ", what));
}

absl::Status RowSink::Finish() {
  RETURN_IF_ERROR(problem_);
  size_t bytes = row_.transform().size() + row_.library().size() +
                 row_.scope().size() + row_.device().size() +
                 row_.library_version().size() + row_.hardware().size();
  for (const auto& [name, value] : row_.settings()) {
    bytes += name.size() + value.size();
  }
  for (const auto& counter : row_.counters()) bytes += counter.first.size();
  if (bytes > kMaxNameBytes) {
    return Error(row_.transform().substr(0, 60),
                 absl::StrCat("the names in a result have ", bytes,
                              " bytes; at most ", kMaxNameBytes, " are read"));
  }
  // Repetitions of a benchmark follow each other.
  const bool is_repeated =
      !last_id_.empty() && row_.transform() == last_.transform() &&
      row_.library() == last_.library() && row_.scope() == last_.scope() &&
      row_.device() == last_.device() &&
      row_.settings().size() == last_.settings().size() &&
      std::all_of(row_.settings().begin(), row_.settings().end(),
                  [this](const auto& setting) {
                    const auto found = last_.settings().find(setting.first);
                    return found != last_.settings().end() &&
                           found->second == setting.second;
                  });
  if (!is_repeated) {
    last_.set_mode(row_.mode());
    last_.set_transform(row_.transform());
    last_.set_library(row_.library());
    last_.set_scope(row_.scope());
    last_.set_device(row_.device());
    *last_.mutable_settings() = row_.settings();
    last_id_ = JobId(last_);
  }
  row_.set_job_id(last_id_);
  if (row_.machine_profile().empty()) {
    row_.set_machine_profile(importer_->machine_);
    ++importer_->unstated_;
  }
  row_.set_run_id(absl::StrCat("file ", importer_->files_));
  row_.set_run_index(importer_->runs_[last_id_]++);
  return importer_->add_(row_);
}

absl::Status RowSink::Add(absl::Span<const double> seconds, double iterations) {
  RETURN_IF_ERROR(problem_);
  for (const double second : seconds) {
    if (!std::isfinite(second) || second <= 0) {
      return AddStatus("failed", "a time is not above 0");
    }
  }
  if (seconds.empty()) return AddStatus("failed", "there is no time");
  const double mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / seconds.size();
  // Iterations that are unknown or absurd count as one per sample.
  const bool is_count = iterations >= 1 && iterations < 9e15;
  const double items =
      is_count ? std::floor(iterations) : static_cast<double>(seconds.size());
  row_.set_items(static_cast<int64_t>(items));
  row_.set_elapsed_s(mean * items);
  row_.set_throughput(1 / mean);
  if (!std::isfinite(row_.elapsed_s()) || !std::isfinite(row_.throughput())) {
    return AddStatus("failed", "a time is out of range");
  }
  row_.mutable_samples_s()->Assign(seconds.begin(), seconds.end());
  double median = seconds[0];
  if (seconds.size() > 1) {
    median = Quantile(seconds, 0.5);
    row_.set_p90_s(Quantile(seconds, 0.9));
  }
  row_.set_p50_s(median);
  return Finish();
}

absl::Status RowSink::AddSummary(const SampleSummary& summary) {
  RETURN_IF_ERROR(problem_);
  const double second =
      summary.median_s() > 0 ? summary.median_s() : summary.mean_s();
  if (!(second > 0) || !std::isfinite(second) || !std::isfinite(1 / second)) {
    return AddStatus("failed", "there is no time above 0");
  }
  *row_.mutable_summary() = summary;
  const auto known = [](double number) {
    return number >= 0 && std::isfinite(number) ? number : 0;
  };
  row_.mutable_summary()->set_mean_s(known(summary.mean_s()));
  row_.mutable_summary()->set_median_s(known(summary.median_s()));
  row_.mutable_summary()->set_stddev_s(known(summary.stddev_s()));
  row_.set_items(std::max<int64_t>(1, summary.count()));
  row_.set_elapsed_s(second * static_cast<double>(row_.items()));
  if (!std::isfinite(row_.elapsed_s())) {
    row_.clear_summary();
    return AddStatus("failed", "a time is out of range");
  }
  row_.set_throughput(1 / second);
  row_.set_p50_s(second);
  return Finish();
}

absl::Status RowSink::AddStatus(const std::string& status,
                                const std::string& reason) {
  row_.set_status(status);
  row_.set_reason(reason);
  row_.set_items(0);
  row_.set_elapsed_s(0);
  row_.set_throughput(0);
  return Finish();
}

void AddCounter(absl::string_view name, double value, Row* row) {
  if (name.empty() || !std::isfinite(value)) return;
  std::string clean;
  clean.reserve(name.size() + 8);
  for (const char c : name) {
    if (c == '/') {
      clean += "_per_";
    } else {
      clean += absl::ascii_isalnum(c) ? c : '_';
    }
  }
  (*row->mutable_counters())[std::move(clean)] = value;
}

std::string MachineName(const std::vector<std::string>& parts) {
  std::vector<std::string> clean;
  for (const std::string& part : parts) {
    std::string text;
    for (const char c : absl::AsciiStrToLower(part)) {
      if (absl::ascii_isalnum(c) || c == '.') {
        text += c;
      } else if (!text.empty() && text.back() != '-') {
        text += '-';
      }
    }
    while (!text.empty() && (text.back() == '-' || text.back() == '.')) {
      text.pop_back();
    }
    while (!text.empty() && text.front() == '.') text.erase(0, 1);
    if (!text.empty()) clean.push_back(text.substr(0, 80));
  }
  return absl::StrJoin(clean, "_");
}

double SecondsOf(absl::string_view unit) {
  static const auto* const kUnits = new std::map<std::string, double>{
      {"s", 1},     {"sec", 1},   {"second", 1}, {"seconds", 1}, {"ms", 1e-3},
      {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6},  {"ns", 1e-9},   {"min", 60}};
  const auto found = kUnits->find(std::string(unit));
  return found == kUnits->end() ? 0 : found->second;
}

std::string UtcTime(absl::string_view text) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace feedrate
