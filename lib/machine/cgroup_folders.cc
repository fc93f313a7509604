#include "lib/machine/cgroup_folders.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

struct Mount {
  std::string group;   // Path of the group that is mounted.
  std::string folder;  // Where.
};

bool Contains(absl::string_view comma_list, absl::string_view word) {
  const std::vector<absl::string_view> words = absl::StrSplit(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes space, tab, newline and backslash as `\040` and so on.
std::string Unescape(absl::string_view path) {
  std::string plain;
  return absl::CUnescape(path, &plain) ? plain : std::string(path);
}

// The mount of the version 1 hierarchy with `controller`, or, when that is
// empty, of the version 2 hierarchy. See proc(5) for the fields.
std::optional<Mount> FindMount(absl::string_view mountinfo,
                               absl::string_view controller) {
  const absl::string_view wanted_type =
      controller.empty() ? "cgroup2" : "cgroup";
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, " - ");
    if (halves.size() != 2) continue;
    const std::vector<absl::string_view> where = absl::StrSplit(halves[0], ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(halves[1], ' ');
    if (where.size() < 5 || what.size() < 3 || what[0] != wanted_type) continue;
    if (!controller.empty() && !Contains(what[2], controller)) continue;
    return Mount{Unescape(where[3]), Unescape(where[4])};
  }
  return std::nullopt;
}

// Path of the process's group in that hierarchy, from lines such as
// `4:memory:/a/b` (version 1) and `0::/a/b` (version 2).
std::optional<std::string> FindGroup(absl::string_view self_cgroup,
                                     absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(self_cgroup, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool matches = controller.empty()
                             ? fields[0] == "0" && fields[1].empty()
                             : Contains(fields[1], controller);
    if (matches) return std::string(fields[2]);
  }
  return std::nullopt;
}

// The folders from the group up to the mount. A container may see its group
// under the host's name for it, or as one above the mount (`/..`): then the
// mount itself is all there is.
std::vector<std::string> FoldersUpTo(const Mount& mount,
                                     const std::string& group) {
  absl::string_view below = group;
  const bool inside =
      absl::ConsumePrefix(&below, absl::StripSuffix(mount.group, "/"));
  if (!inside || absl::StrContains(below, "..")) below = "";
  std::vector<std::string> folders;
  while (!below.empty() && below != "/") {
    folders.push_back(absl::StrCat(mount.folder, below));
    below = below.substr(
        0, below.rfind('/') == absl::string_view::npos ? 0 : below.rfind('/'));
  }
  folders.push_back(mount.folder);
  return folders;
}

}  // namespace

CgroupFolders FindCgroup(const Root& root, absl::string_view controller) {
  const std::string mountinfo = root.Read("/proc/self/mountinfo").value_or("");
  const std::string groups = root.Read("/proc/self/cgroup").value_or("");
  for (const int version : {1, 2}) {
    const absl::string_view name =
        version == 1 ? controller : absl::string_view();
    const std::optional<Mount> mount = FindMount(mountinfo, name);
    if (!mount.has_value()) continue;
    const std::string group = FindGroup(groups, name).value_or("");
    return {version, FoldersUpTo(*mount, group)};
  }
  return {};
}

}  // namespace feedrate
