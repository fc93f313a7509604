#include "lib/staging/stage.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "lib/staging/archive_stream.h"
#include "lib/staging/destination.h"
#include "lib/staging/source.h"
#include "lib/tar/extract/unpack.h"
#include "lib/url/secrets.h"

namespace feedrate::tar {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTerminalStep = std::chrono::milliseconds(200);
constexpr auto kLogStep = std::chrono::seconds(10);
constexpr int kBarWidth = 20;

std::string Duration(double seconds) {
  // A longer time is as good as unknown.
  const auto total = static_cast<int>(std::min(seconds, 359999.0));
  char text[32];
  snprintf(text, sizeof(text), "%d:%02d:%02d", total / 3600, total / 60 % 60,
           total % 60);
  return text;
}

}  // namespace

std::string HumanBytes(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 5) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  snprintf(text, sizeof(text), "%.*f %s", digits, bytes, units[unit]);
  return text;
}

std::string ProgressLine(const std::string& name, uint64_t done,
                         std::optional<uint64_t> total, double seconds) {
  const auto bytes = static_cast<double>(done);
  const double rate = seconds > 0 ? bytes / seconds : 0;
  std::string line = name + ": ";
  if (!total || *total == 0) {
    return line + HumanBytes(bytes) + "  " + HumanBytes(rate) + "/s";
  }
  const auto whole = static_cast<double>(*total);
  const double share = std::min(1.0, bytes / whole);
  const int filled = static_cast<int>(share * kBarWidth);
  char percent[8];
  snprintf(percent, sizeof(percent), "%3d%%", static_cast<int>(share * 100));
  line += "[" + std::string(filled, '#') +
          std::string(kBarWidth - filled, '-') + "] " + percent + "  " +
          HumanBytes(bytes) + " of " + HumanBytes(whole) + "  " +
          HumanBytes(rate) + "/s";
  if (rate > 0) {
    line += "  ETA " + Duration(std::max(0.0, whole - bytes) / rate);
  }
  return line;
}

bool IsSha256(const std::string& text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

namespace {

// A thread that reports progress: a bar on a terminal, otherwise a line from
// time to time. Short runs print nothing.
class Progress {
 public:
  Progress(std::string name, const std::atomic<uint64_t>* done,
           std::optional<uint64_t> total);
  // Ends the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Run();
  void Draw(double seconds);

  const std::string name_;
  const std::atomic<uint64_t>* const done_;
  const std::optional<uint64_t> total_;
  const bool terminal_;
  bool drawn_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

Progress::Progress(std::string name, const std::atomic<uint64_t>* done,
                   std::optional<uint64_t> total)
    : name_(std::move(name)),
      done_(done),
      total_(total),
      terminal_(isatty(STDERR_FILENO)) {
  sigset_t all, old;  // Signals are handled by the main thread.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (terminal_ && drawn_) fputc('\n', stderr);
}

void Progress::Run() {
  const Clock::time_point start = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (terminal_) {
      changed_.wait_for(lock, kTerminalStep);
    } else {
      changed_.wait_for(lock, kLogStep);
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (!stop_ || drawn_) Draw(elapsed.count());
  }
}

void Progress::Draw(double seconds) {
  const std::string line = ProgressLine(name_, *done_, total_, seconds);
  // \033[K erases the rest of a longer line.
  fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  fflush(stderr);
  drawn_ = true;
}

double MegabytesPerSecond(const StageReport& report) {
  if (report.already_staged || report.seconds <= 0) return 0;
  return report.counts.bytes / 1e6 / report.seconds;
}

uint64_t SkippedTotal(const Counts& counts) {
  uint64_t total = counts.xattr_headers;
  for (uint64_t count : counts.skipped) total += count;
  return total;
}

}  // namespace

std::string ReportJson(const StageReport& report,
                       const std::string& tool_version) {
  const Counts& counts = report.counts;
  JsonObject json;
  json.Add("schema", 1).Add("record", "stage");
  json.Add("source", report.source).Add("dest", report.dest);
  json.Add("already_staged", report.already_staged);
  json.Add("bytes", counts.bytes).Add("files", counts.files);
  json.Add("folders", counts.folders).Add("symlinks", counts.symlinks);
  json.Add("hard_links", counts.hard_links);
  json.Add("seconds", report.seconds, 6);
  json.Add("mb_per_s", MegabytesPerSecond(report), 3);
  json.Add("skipped", SkippedJson(counts));
  if (report.sha256.empty()) {
    json.AddNull("sha256");
  } else {
    json.Add("sha256", report.sha256);
  }
  json.Add("source_bytes", report.source_bytes);
  json.Add("resumed_from", report.resumed_from);
  json.Add("synced", report.synced).Add("tool_version", tool_version);
  return json.Finish();
}

std::string ReportLine(const StageReport& report) {
  const Counts& counts = report.counts;
  std::string line = std::to_string(counts.files) + " files, " +
                     HumanBytes(static_cast<double>(counts.bytes)) + " in " +
                     report.dest;
  if (report.already_staged) return "already staged: " + line;
  char rate[64];
  snprintf(rate, sizeof(rate), ", %.2f s, %.0f MB/s", report.seconds,
           MegabytesPerSecond(report));
  line += rate;
  const uint64_t skipped = SkippedTotal(counts);
  if (skipped > 0) line += ", " + std::to_string(skipped) + " left out";
  return "staged: " + line;
}

namespace {

// More threads would wait for each other in the file system.
constexpr int kMaxThreads = 8;

int DefaultThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 2;
  return std::clamp(count, 2, kMaxThreads);
}

std::string Absolute(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  const std::string absolute = resolved != nullptr ? resolved : path;
  free(resolved);
  return absolute;
}

class Stager {
 public:
  Stager(const StageOptions& options, StageReport* report)
      : options_(options), report_(report) {}

  Status Run() {
    const auto start = std::chrono::steady_clock::now();
    Status status = RunUntimed();
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    report_->seconds = elapsed.count();
    return status;
  }

 private:
  Status RunUntimed() {
    TAR_RETURN_IF_ERROR(OpenBoth());
    if (!options_.force && IsStaged() && (report_->synced || !options_.sync)) {
      return Status();
    }
    TAR_RETURN_IF_ERROR(dest_.Lock([this] {
      fprintf(stderr,
              "stage_dataset: another process stages into %s; waiting "
              "for it\n",
              report_->dest.c_str());
    }));
    // The process that we waited for may have done it.
    if (!options_.force && IsStaged()) {
      return report_->synced || !options_.sync ? Status() : MakeDurable();
    }
    return StageLocked();
  }

  // An earlier run with --no-sync wrote everything; now it must be flushed to
  // disk.
  Status MakeDurable() {
    TAR_RETURN_IF_ERROR(dest_.Sync());
    return Seal();
  }

  Status OpenBoth() {
    TAR_RETURN_IF_ERROR(source_.Open(options_.source, options_.timeout_s));
    report_->source = source_.name();
    if (options_.expected_bytes && source_.size() &&
        *source_.size() != *options_.expected_bytes) {
      return WrongSize(*source_.size());
    }
    if (source_.kind() == Source::Kind::kFolder && !options_.sha256.empty()) {
      return CallersMistake("--sha256: a folder has no checksum of its own");
    }
    TAR_RETURN_IF_ERROR(dest_.Open(options_.dest));
    report_->dest = Absolute(options_.dest);
    WarnOfOthers();
    return CheckApart();
  }

  // Folders that users share are allowed, but not in silence: whoever can write
  // this one can change its files, and forge its sentinel.
  void WarnOfOthers() const {
    struct stat info;
    if (fstat(dest_.fd(), &info) != 0) return;
    const char* const dest = report_->dest.c_str();
    if (info.st_uid != geteuid() && info.st_uid != 0) {
      fprintf(stderr,
              "stage_dataset: %s belongs to another user (%u), who can change "
              "what is in it; unless you trust them, name another folder\n",
              dest, static_cast<unsigned>(info.st_uid));
    } else if ((info.st_mode & S_IWOTH) != 0) {
      fprintf(stderr,
              "stage_dataset: all users can change what is in %s; unless you "
              "trust them, run: chmod o-w %s\n",
              dest, dest);
    }
  }

  // Copying a folder into itself would never end.
  Status CheckApart() const {
    if (source_.kind() != Source::Kind::kFolder) return Status();
    const std::string inner = report_->dest + "/";
    const std::string outer = source_.name() + "/";
    if (inner.compare(0, outer.size(), outer) != 0) return Status();
    return CallersMistake("--dest=" + report_->dest +
                          " lies in --source=" + source_.name());
  }

  // What was staged depends on the source and on the options.
  std::string Identity() const {
    std::string identity = source_.identity();
    if (identity.empty() && IsSha256(options_.sha256)) {
      identity = "sha256 " + options_.sha256;
    }
    if (identity.empty()) return identity;
    return identity + " strip " + std::to_string(options_.strip_components);
  }

  bool IsStaged() {
    Sentinel sentinel;
    const std::string identity = Identity();
    if (identity.empty() || !ReadSentinel(dest_.fd(), &sentinel)) return false;
    const std::string encoded = JsonString(identity);
    const bool same =
        '"' + sentinel.identity + '"' == encoded &&
        (options_.sha256.empty() || options_.sha256 == sentinel.sha256 ||
         (options_.sha256 == "compute" && !sentinel.sha256.empty())) &&
        (!options_.expected_bytes ||
         *options_.expected_bytes == sentinel.source_bytes) &&
        sentinel.counts.bytes <= options_.max_bytes;
    report_->already_staged = same;
    if (!same) return false;
    report_->counts = sentinel.counts;
    report_->source_bytes = sentinel.source_bytes;
    report_->sha256 = sentinel.sha256;
    report_->synced = sentinel.synced;
    return true;
  }

  Status StageLocked() {
    Sentinel old;
    if (ReadSentinel(dest_.fd(), &old) && !options_.force) {
      fprintf(stderr,
              "stage_dataset: %s was staged from %s before; files that only "
              "that had stay there\n",
              report_->dest.c_str(), ShownUrl(old.source).c_str());
    }
    TAR_RETURN_IF_ERROR(RemoveSentinel(dest_.fd()));
    Journal journal;
    TAR_RETURN_IF_ERROR(journal.Open(dest_.fd(), Identity(), options_.force,
                                     &report_->resumed_from));
    if (report_->resumed_from > 0) {
      fprintf(stderr,
              "stage_dataset: going on where an earlier run was, at "
              "%llu\n",
              static_cast<unsigned long long>(report_->resumed_from));
    }
    bool lost = false;
    Status written = Write(&journal, &lost);
    if (lost) TAR_RETURN_IF_ERROR(StartOver(written, &journal, &written));
    TAR_RETURN_IF_ERROR(written);
    TAR_RETURN_IF_ERROR(CheckResult());
    if (options_.sync) TAR_RETURN_IF_ERROR(dest_.Sync());
    TAR_RETURN_IF_ERROR(Seal());
    journal.Remove(dest_.fd());
    return Status();
  }

  // Everything is written again, not just what is gone: entries before the
  // journal's offset may depend on others that were replaced since.
  Status StartOver(const Status& why, Journal* journal, Status* written) {
    TAR_RETURN_IF_ERROR(
        journal->Open(dest_.fd(), Identity(), true, &report_->resumed_from));
    if (source_.kind() == Source::Kind::kStdin) {
      return Failed(why.message() + "; run again to stage everything");
    }
    fprintf(stderr, "stage_dataset: %s; staging everything again\n",
            why.message().c_str());
    done_ = &second_done_;
    bool lost = false;
    *written = Write(journal, &lost);
    return Status();
  }

  // Sets `*lost` when what an earlier run wrote is gone.
  Status Write(Journal* journal, bool* lost) {
    UnpackOptions options;
    options.strip_components = options_.strip_components;
    options.max_bytes = options_.max_bytes;
    options.threads =
        options_.threads > 0 ? options_.threads : DefaultThreads();
    options.resume_offset = report_->resumed_from;
    options.listener = journal;
    const std::string& name = source_.name();
    const std::string path = name.substr(0, name.find('?'));
    const Progress progress(path.substr(path.rfind('/') + 1), done_,
                            source_.size());
    UnpackResult result;
    Status written = source_.kind() == Source::Kind::kFolder
                         ? WriteFolder(&options, &result)
                         : WriteArchive(&options, &result);
    *lost = result.lost;
    report_->counts = result.counts;
    return written;
  }

  Status WriteFolder(UnpackOptions* options, UnpackResult* result) {
    options->read_offset = done_;
    TreeSummary copied;
    TAR_RETURN_IF_ERROR(CopyTree(source_.fd(), source_.name(), dest_.fd(),
                                 *options, result, &copied));
    report_->source_bytes = *done_;
    return source_.CheckUnchanged(copied);
  }

  Status WriteArchive(UnpackOptions* options, UnpackResult* result) {
    ArchiveStream stream;
    TAR_RETURN_IF_ERROR(stream.Open(source_, !options_.sha256.empty(), done_));
    if (!stream.metered()) options->read_offset = done_;
    Status unpacked =
        Unpack(stream.input(), source_.name(), dest_.fd(), *options, result);
    if (!unpacked.ok()) return stream.Explain(unpacked);
    TAR_RETURN_IF_ERROR(stream.Finish(&report_->sha256));
    report_->source_bytes = *done_;
    if (result->trailing_bytes > 0) {
      fprintf(stderr,
              "stage_dataset: %s: %llu bytes after the end of the archive were "
              "left out\n",
              source_.name().c_str(),
              static_cast<unsigned long long>(result->trailing_bytes));
    }
    return Status();
  }

  Status WrongSize(uint64_t size) const {
    return Failed(source_.name() + " has " + std::to_string(size) +
                  " bytes, not --expected-bytes=" +
                  std::to_string(*options_.expected_bytes));
  }

  Status CheckResult() const {
    const uint64_t size = report_->source_bytes;
    if (options_.expected_bytes && size != *options_.expected_bytes) {
      return WrongSize(size);
    }
    if (source_.size() && size != *source_.size()) {
      return Failed(source_.name() + " gave " + std::to_string(size) +
                    " bytes instead of " + std::to_string(*source_.size()) +
                    "; it changed, or the transfer broke off: run again");
    }
    if (IsSha256(options_.sha256) && report_->sha256 != options_.sha256) {
      return Failed(source_.name() + " has sha256 " + report_->sha256 +
                    ", not --sha256=" + options_.sha256);
    }
    return source_.CheckUnchanged();
  }

  Status Seal() const {
    Sentinel sentinel;
    sentinel.tool_version = options_.tool_version;
    sentinel.source = source_.name();
    sentinel.identity = Identity();
    sentinel.source_bytes = report_->source_bytes;
    sentinel.sha256 = report_->sha256;
    sentinel.counts = report_->counts;
    sentinel.synced = options_.sync;
    report_->synced = options_.sync;
    return WriteSentinel(dest_.fd(), sentinel);
  }

  const StageOptions& options_;
  StageReport* const report_;
  Source source_;
  Destination dest_;
  // Two, because the first attempt may leave a thread that still counts.
  std::atomic<uint64_t> first_done_{0}, second_done_{0};
  std::atomic<uint64_t>* done_ = &first_done_;
};

}  // namespace

Status Stage(const StageOptions& options, StageReport* report) {
  return Stager(options, report).Run();
}

}  // namespace feedrate::tar
