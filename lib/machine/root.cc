#include "lib/machine/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Files in /proc and /sys report no size, so read to the end.
std::optional<std::string> ReadToEnd(int fd, size_t limit) {
  std::string contents;
  char buffer[4096];
  while (contents.size() < limit) {
    const size_t wanted = std::min(sizeof(buffer), limit - contents.size());
    const ssize_t got = read(fd, buffer, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    contents.append(buffer, got);
  }
  return contents;
}

// Empty if `path` leads nowhere.
std::string RealPath(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return "";
  const std::string result = real;
  free(real);
  return result;
}

}  // namespace

Root::Root(std::string folder) : folder_(std::move(folder)) {
  while (absl::EndsWith(folder_, "/")) folder_.pop_back();
}

std::string Root::PathOf(absl::string_view path) const {
  return absl::StrCat(folder_, absl::StartsWith(path, "/") ? "" : "/", path);
}

bool Root::Exists(absl::string_view path) const {
  return access(PathOf(path).c_str(), F_OK) == 0;
}

std::optional<std::string> Root::Read(absl::string_view path,
                                      size_t limit) const {
  // Non-blocking, so that a pipe in place of the file cannot block us.
  const int fd =
      open(PathOf(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> contents = ReadToEnd(fd, limit);
  close(fd);
  return contents;
}

std::string Root::ReadText(absl::string_view path) const {
  return std::string(absl::StripAsciiWhitespace(Read(path).value_or("")));
}

std::optional<int64_t> Root::ReadInt(absl::string_view path) const {
  int64_t value;
  if (!absl::SimpleAtoi(ReadText(path), &value)) return std::nullopt;
  return value;
}

std::string Root::Resolve(absl::string_view path) const {
  absl::string_view inside = path;
  const std::string real = RealPath(PathOf(path));
  const std::string top = folder_.empty() ? "" : RealPath(folder_);
  absl::string_view rest = real;
  if (!real.empty() && absl::ConsumePrefix(&rest, top) &&
      absl::StartsWith(rest, "/")) {
    inside = rest;
  }
  return std::string(inside);
}

std::vector<std::string> Root::List(absl::string_view folder) const {
  std::vector<std::string> names;
  DIR* dir = opendir(PathOf(folder).c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// Higher than any kernel supports (CONFIG_NR_CPUS is at most 8192); keeps a
// garbled file from making us allocate gigabytes.
constexpr int kMaxCpu = 65535;

bool ParseRange(absl::string_view text, int* first, int* last) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  if (ends.size() > 2) return false;
  return absl::SimpleAtoi(ends.front(), first) &&
         absl::SimpleAtoi(ends.back(), last) && *first >= 0 &&
         *first <= *last && *last <= kMaxCpu;
}

}  // namespace

std::vector<int> ParseCpuList(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return {};
  std::set<int> cpus;
  for (absl::string_view range : absl::StrSplit(text, ',')) {
    int first, last;
    if (!ParseRange(range, &first, &last)) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

}  // namespace feedrate
