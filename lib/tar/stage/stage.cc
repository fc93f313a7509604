#include "lib/tar/stage/stage.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "lib/tar/error.h"
#include "lib/tar/extract/unpack.h"
#include "lib/tar/stage/archive_stream.h"
#include "lib/tar/stage/checksum.h"
#include "lib/tar/stage/destination.h"
#include "lib/tar/stage/journal.h"
#include "lib/tar/stage/json.h"
#include "lib/tar/stage/progress.h"
#include "lib/tar/stage/sentinel.h"
#include "lib/tar/stage/source.h"
#include "lib/tar/stage/tree.h"

namespace feedrate::tar {
namespace {

// More threads than this wait for each other in the file system.
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
    // The one we waited for may have done it.
    if (!options_.force && IsStaged()) {
      return report_->synced || !options_.sync ? Status() : MakeDurable();
    }
    return StageLocked();
  }

  // An earlier run with --no-sync wrote all there is; now it is to last.
  Status MakeDurable() {
    TAR_RETURN_IF_ERROR(dest_.Sync());
    return Seal();
  }

  Status OpenBoth() {
    TAR_RETURN_IF_ERROR(source_.Open(options_.source));
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
    return CheckApart();
  }

  // A folder copied into itself would never end.
  Status CheckApart() const {
    if (source_.kind() != Source::Kind::kFolder) return Status();
    const std::string inner = report_->dest + "/";
    const std::string outer = source_.name() + "/";
    if (inner.compare(0, outer.size(), outer) != 0) return Status();
    return CallersMistake("--dest=" + report_->dest +
                          " lies in --source=" + source_.name());
  }

  // What was staged depends on the source and on how it was asked for.
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
              report_->dest.c_str(), old.source.c_str());
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
    TAR_RETURN_IF_ERROR(Write(&journal));
    TAR_RETURN_IF_ERROR(CheckResult());
    if (options_.sync) TAR_RETURN_IF_ERROR(dest_.Sync());
    TAR_RETURN_IF_ERROR(Seal());
    journal.Remove(dest_.fd());
    return Status();
  }

  Status Write(Journal* journal) {
    UnpackOptions options;
    options.strip_components = options_.strip_components;
    options.max_bytes = options_.max_bytes;
    options.threads =
        options_.threads > 0 ? options_.threads : DefaultThreads();
    options.resume_offset = report_->resumed_from;
    options.listener = journal;
    const std::string& name = source_.name();
    const Progress progress(name.substr(name.rfind('/') + 1), &done_,
                            source_.size());
    UnpackResult result;
    TAR_RETURN_IF_ERROR(source_.kind() == Source::Kind::kFolder
                            ? WriteFolder(&options, &result)
                            : WriteArchive(&options, &result));
    report_->counts = result.counts;
    return Status();
  }

  Status WriteFolder(UnpackOptions* options, UnpackResult* result) {
    options->read_offset = &done_;
    TAR_RETURN_IF_ERROR(
        CopyTree(source_.fd(), source_.name(), dest_.fd(), *options, result));
    report_->source_bytes = done_;
    return Status();
  }

  Status WriteArchive(UnpackOptions* options, UnpackResult* result) {
    ArchiveStream stream;
    TAR_RETURN_IF_ERROR(stream.Open(
        source_, options_.sha256.empty() ? nullptr : options_.make_sha256(),
        &done_));
    if (!stream.metered()) options->read_offset = &done_;
    Status unpacked =
        Unpack(stream.input(), source_.name(), dest_.fd(), *options, result);
    if (!unpacked.ok()) return stream.Explain(unpacked);
    TAR_RETURN_IF_ERROR(stream.Finish(&report_->sha256));
    report_->source_bytes = done_;
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
  std::atomic<uint64_t> done_{0};
};

}  // namespace

Status Stage(const StageOptions& options, StageReport* report) {
  return Stager(options, report).Run();
}

}  // namespace feedrate::tar
