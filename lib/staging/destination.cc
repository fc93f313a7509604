#include "lib/staging/destination.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "lib/tar/header.h"

namespace feedrate::tar {
namespace {

// The number of bytes of the valid UTF-8 character at `at`; 0 if there is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong =
      (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside =
      (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text, i);
    char escaped[16];
    if (length == 0) {
      snprintf(escaped, sizeof(escaped), "\\ufffd%02x", byte);
      out += escaped;
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', static_cast<char>(byte)};
    } else if (byte < 0x20) {
      snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      out += escaped;
    } else {
      out.append(text.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

JsonObject& JsonObject::Raw(std::string_view key, std::string_view value) {
  if (text_.size() > 1) text_ += ',';
  text_ += JsonString(key) + ':';
  text_.append(value);
  return *this;
}

JsonObject& JsonObject::Add(std::string_view key, std::string_view text) {
  return Raw(key, JsonString(text));
}

JsonObject& JsonObject::Add(std::string_view key, const char* text) {
  return Raw(key, JsonString(text));
}

JsonObject& JsonObject::Add(std::string_view key, uint64_t number) {
  return Raw(key, std::to_string(number));
}

JsonObject& JsonObject::Add(std::string_view key, int number) {
  return Raw(key, std::to_string(number));
}

JsonObject& JsonObject::Add(std::string_view key, bool truth) {
  return Raw(key, truth ? "true" : "false");
}

JsonObject& JsonObject::Add(std::string_view key, double number, int digits) {
  char text[64];
  snprintf(text, sizeof(text), "%.*f", digits, number);
  return Raw(key, text);
}

JsonObject& JsonObject::Add(std::string_view key, const JsonObject& object) {
  return Raw(key, object.Finish());
}

JsonObject& JsonObject::AddNull(std::string_view key) {
  return Raw(key, "null");
}

std::string_view FindJson(std::string_view object, std::string_view key) {
  const std::string quoted = JsonString(key) + ":";
  const size_t found = object.find(quoted);
  if (found == std::string_view::npos) return {};
  object.remove_prefix(found + quoted.size());
  size_t end = 0;
  if (!object.empty() && object[0] == '"') {
    for (end = 1; end < object.size() && object[end] != '"'; ++end) {
      if (object[end] == '\\') ++end;
    }
    if (end >= object.size()) return {};
    return object.substr(0, end + 1);
  }
  end = object.find_first_of(",}");
  return end == std::string_view::npos ? std::string_view()
                                       : object.substr(0, end);
}

uint64_t FindJsonNumber(std::string_view object, std::string_view key) {
  return strtoull(std::string(FindJson(object, key)).c_str(), nullptr, 10);
}

namespace {

// Identifies this boot of the kernel. Data that was written but not synced
// survives a kill, but not a crash of the machine: whatever claims that it is
// there holds for one boot only. The kernel's own id, or, without /proc, the
// second at which it started.
std::string BootId() {
  char text[37] = {};
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got == sizeof(text) - 1) return text;
  }
  struct timespec now = {}, up = {};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  const int64_t nanoseconds =
      (now.tv_sec - up.tv_sec) * 1000000000LL + (now.tv_nsec - up.tv_nsec);
  return "booted-at-" + std::to_string(nanoseconds / 1000000000LL);
}

// Like mkdir -p.
int MakeFolders(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) == 0 || errno == EEXIST) continue;
    // mkdir may fail with another error for a parent that exists.
    struct stat info;
    const int error = errno;
    if (stat(part.c_str(), &info) != 0) return error;
  }
  return 0;
}

}  // namespace

Destination::~Destination() {
  if (fd_ >= 0) close(fd_);
}

Status Destination::Open(const std::string& path) {
  path_ = path;
  const int error = MakeFolders(path);
  if (error != 0) return SystemFailure("cannot make folder", path, error);
  fd_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 && errno == ENOTDIR) {
    return CallersMistake("--dest=" + path + " is not a folder");
  }
  if (fd_ < 0) return SystemFailure("cannot open", path, errno);
  return Status();
}

Status Destination::Lock(const std::function<void()>& on_wait) {
  int result = flock(fd_, LOCK_EX | LOCK_NB);
  if (result != 0 && errno == EWOULDBLOCK) {
    on_wait();
    do {
      result = flock(fd_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
  }
  if (result != 0) return SystemFailure("cannot lock", path_, errno);
  return Status();
}

Status Destination::Sync() {
  if (syncfs(fd_) == 0) return Status();
  return SystemFailure("cannot sync", path_, errno);
}

namespace {

// Returns false with errno.
bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(written);
  }
  return true;
}

// errno has the reason.
Status RemovalFailure(const char* name) {
  if (errno == EISDIR) {
    return Failed(std::string(name) +
                  " in --dest is a folder, which stage_dataset never makes; "
                  "remove it and run again");
  }
  return SystemFailure("cannot remove", name, errno);
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, got);
  }
}

// The last complete line as a number; 0 if it is not a number.
uint64_t LastOffset(std::string_view text) {
  const size_t end = text.rfind('\n');
  const size_t begin = text.rfind('\n', end - 1) + 1;
  int64_t offset = 0;
  ParseDecimal(text.substr(begin, end - begin), &offset);
  return static_cast<uint64_t>(offset);
}

}  // namespace

Journal::~Journal() {
  if (fd_ >= 0) close(fd_);
}

Status Journal::Open(int folder_fd, const std::string& identity, bool fresh,
                     uint64_t* resume_offset) {
  *resume_offset = 0;
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  const std::string header = JsonObject()
                                 .Add("schema", 1)
                                 .Add("record", "stage_journal")
                                 .Add("boot_id", BootId())
                                 .Add("identity", identity)
                                 .Finish() +
                             "\n";
  if (!fresh && !identity.empty() && Load(folder_fd, header, resume_offset)) {
    return Status();
  }
  if (unlinkat(folder_fd, kJournalName, 0) != 0 && errno != ENOENT) {
    return RemovalFailure(kJournalName);
  }
  fd_ = openat(folder_fd, kJournalName,
               O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
               0644);
  if (fd_ < 0 || !WriteAll(fd_, header)) {
    return SystemFailure("cannot write", kJournalName, errno);
  }
  return Status();
}

bool Journal::Load(int folder_fd, const std::string& header, uint64_t* offset) {
  // O_NONBLOCK: a FIFO would be read forever.
  const int fd =
      openat(folder_fd, kJournalName,
             O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const std::string text = ReadAll(fd);
  if (text.compare(0, header.size(), header) != 0) {
    close(fd);
    return false;
  }
  // Removes a truncated last line, which would run into the next one.
  if (text.back() != '\n' &&
      ftruncate(fd, static_cast<off_t>(text.rfind('\n') + 1)) != 0) {
    close(fd);
    return false;
  }
  if (text.size() > header.size()) *offset = LastOffset(text);
  fd_ = fd;
  return true;
}

bool Journal::OnFinished(uint64_t offset) {
  if (fd_ < 0) return false;
  if (WriteAll(fd_, std::to_string(offset) + "\n")) return true;
  close(std::exchange(fd_, -1));
  return false;
}

void Journal::Remove(int folder_fd) { unlinkat(folder_fd, kJournalName, 0); }

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

// A sentinel has at most a few kilobytes; a larger file is not ours.
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
  if (unlinkat(folder_fd, kTemporaryName, 0) != 0 && errno != ENOENT) {
    return RemovalFailure(kTemporaryName);
  }
  const int fd =
      openat(folder_fd, kTemporaryName,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return SystemFailure("cannot create", kTemporaryName, errno);
  const bool written =
      WriteAll(fd, text) && (!sentinel.synced || fsync(fd) == 0);
  const int error = errno;
  if (close(fd) != 0 || !written) {
    unlinkat(folder_fd, kTemporaryName, 0);
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
    return RemovalFailure(kSentinelName);
  }
  if (fsync(folder_fd) == 0) return Status();
  return SystemFailure("cannot sync the removal of", kSentinelName, errno);
}

}  // namespace feedrate::tar
