#include "lib/tar/stage/sentinel.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "lib/tar/stage/boot_id.h"

namespace feedrate::tar {
namespace {

constexpr char kTemporaryName[] = ".stage_dataset.done.new";
constexpr char kKind[] = "stage_sentinel";

struct SkipName {
  Skip skip;
  const char* name;
};
constexpr SkipName kSkipNames[] = {
    {Skip::kDsStore, "ds_store"},  {Skip::kAppleDouble, "apple_double"},
    {Skip::kMacosx, "macosx"},     {Skip::kStageFile, "stage_files"},
    {Skip::kStripped, "stripped"},
};

std::string Now() {
  const time_t seconds = time(nullptr);
  struct tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string ToJson(const Sentinel& sentinel) {
  JsonObject json;
  json.Add("schema", 1).Add("record", kKind);
  json.Add("tool_version", sentinel.tool_version);
  json.Add("source", sentinel.source).Add("identity", sentinel.identity);
  json.Add("source_bytes", sentinel.source_bytes);
  if (sentinel.sha256.empty()) {
    json.AddNull("sha256");
  } else {
    json.Add("sha256", sentinel.sha256);
  }
  const Counts& counts = sentinel.counts;
  json.Add("bytes", counts.bytes).Add("files", counts.files);
  json.Add("folders", counts.folders).Add("symlinks", counts.symlinks);
  json.Add("hard_links", counts.hard_links);
  json.Add("skipped", SkippedJson(counts));
  json.Add("synced", sentinel.synced).Add("boot_id", BootId());
  json.Add("finished_at", Now());
  return json.Finish() + "\n";
}

std::string Unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return "";
  return std::string(text.substr(1, text.size() - 2));
}

// A sentinel is below a few kilobytes; a file that is not is none of ours.
std::string ReadSmallFile(int folder_fd, const char* name) {
  const int fd =
      openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  std::string text(64 << 10, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(got > 0 ? got : 0);
  return text;
}

}  // namespace

JsonObject SkippedJson(const Counts& counts) {
  JsonObject json;
  for (const SkipName& kind : kSkipNames) {
    json.Add(kind.name, counts.skipped[static_cast<int>(kind.skip)]);
  }
  return json.Add("xattr_headers", counts.xattr_headers);
}

bool ReadSentinel(int folder_fd, Sentinel* sentinel) {
  const std::string text = ReadSmallFile(folder_fd, kSentinelName);
  if (text.size() < 2 || text.substr(text.size() - 2) != "}\n") return false;
  if (FindJson(text, "record") != JsonString(kKind)) return false;
  sentinel->tool_version = Unquoted(FindJson(text, "tool_version"));
  sentinel->source = Unquoted(FindJson(text, "source"));
  sentinel->identity = Unquoted(FindJson(text, "identity"));
  sentinel->source_bytes = FindJsonNumber(text, "source_bytes");
  sentinel->sha256 = Unquoted(FindJson(text, "sha256"));
  Counts& counts = sentinel->counts;
  counts.bytes = FindJsonNumber(text, "bytes");
  counts.files = FindJsonNumber(text, "files");
  counts.folders = FindJsonNumber(text, "folders");
  counts.symlinks = FindJsonNumber(text, "symlinks");
  counts.hard_links = FindJsonNumber(text, "hard_links");
  for (const SkipName& kind : kSkipNames) {
    counts.skipped[static_cast<int>(kind.skip)] =
        FindJsonNumber(text, kind.name);
  }
  counts.xattr_headers = FindJsonNumber(text, "xattr_headers");
  sentinel->synced = FindJson(text, "synced") == "true";
  return sentinel->synced || FindJson(text, "boot_id") == JsonString(BootId());
}

Status WriteSentinel(int folder_fd, const Sentinel& sentinel) {
  const std::string text = ToJson(sentinel);
  unlinkat(folder_fd, kTemporaryName, 0);
  const int fd =
      openat(folder_fd, kTemporaryName,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return SystemFailure("cannot create", kTemporaryName, errno);
  const bool written = write(fd, text.data(), text.size()) ==
                           static_cast<ssize_t>(text.size()) &&
                       (!sentinel.synced || fsync(fd) == 0);
  const int error = errno;
  if (close(fd) != 0 || !written) {
    return SystemFailure("cannot write", kTemporaryName, error);
  }
  if (renameat(folder_fd, kTemporaryName, folder_fd, kSentinelName) != 0 ||
      (sentinel.synced && fsync(folder_fd) != 0)) {
    return SystemFailure("cannot write", kSentinelName, errno);
  }
  return Status();
}

Status RemoveSentinel(int folder_fd) {
  if (unlinkat(folder_fd, kSentinelName, 0) != 0) {
    if (errno == ENOENT) return Status();
    return SystemFailure("cannot remove", kSentinelName, errno);
  }
  if (fsync(folder_fd) == 0) return Status();
  return SystemFailure("cannot sync the removal of", kSentinelName, errno);
}

}  // namespace feedrate::tar
