#include "lib/loader/source/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/media/image_file.h"
#include "lib/tar/extract/safe_path.h"

namespace feedrate {
namespace {

constexpr char kArrayEnding[] = "npy";
constexpr absl::string_view kStagePrefix(tar::kStagePrefix.data(),
                                         tar::kStagePrefix.size());
// Named in one message.
constexpr size_t kMostNamed = 5;

// "jpg" of a path, in lower case; empty if the name has no dot.
std::string EndingOf(absl::string_view path) {
  const std::string name = BaseName(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return "";
  return absl::AsciiStrToLower(name.substr(dot + 1));
}

// "a, b, c and 4 more".
std::string FirstOf(std::vector<std::string> words) {
  const size_t more = words.size() - std::min(words.size(), kMostNamed);
  words.resize(words.size() - more);
  return absl::StrCat(absl::StrJoin(words, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

bool IsItemName(absl::string_view name) {
  return IsImageName(name) || EndingOf(name) == kArrayEnding;
}

std::vector<std::string> ItemNameEndings() {
  std::vector<std::string> endings = ImageEndings();
  endings.emplace_back(kArrayEnding);
  return endings;
}

bool HasEnding(absl::string_view name,
               const std::vector<std::string>& endings) {
  return std::find(endings.begin(), endings.end(), EndingOf(name)) !=
         endings.end();
}

void LeftOut::AddFile(absl::string_view path) {
  const std::string ending = EndingOf(path);
  Add(ending.empty() ? "without an ending" : absl::StrCat(".", ending), path);
}

void LeftOut::Add(const std::string& kind, absl::string_view path) {
  if (total_++ == 0) first_ = std::string(path);
  ++kinds_[kind];
}

std::string LeftOut::Text() const {
  if (total_ == 0) return "";
  std::vector<std::pair<std::string, int64_t>> kinds(kinds_.begin(),
                                                     kinds_.end());
  std::stable_sort(
      kinds.begin(), kinds.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [kind, count] : kinds) {
    words.push_back(absl::StrCat(count, " ", kind));
  }
  return absl::StrCat("ignored ", total_, total_ == 1 ? " file: " : " files: ",
                      FirstOf(std::move(words)), "; the first is ", first_);
}

absl::StatusOr<DataFolder> ListDataFolder(
    const std::string& folder, const std::vector<std::string>& endings) {
  std::vector<std::string> loops;
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true, &loops));
  DataFolder listing;
  for (std::string& path : paths) {
    if (HasEnding(path, endings)) {
      listing.paths.push_back(std::move(path));
    } else if (!absl::StartsWith(BaseName(path), kStagePrefix) &&
               BaseName(path) != kJpegIndexName) {
      listing.left_out.AddFile(path);
    }
  }
  for (const std::string& loop : loops) {
    listing.left_out.Add("link to a folder that it is in", loop);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      listing.folders.push_back(entry.path().filename().string());
    }
  }
  std::sort(listing.folders.begin(), listing.folders.end());
  return listing;
}

std::string ClassFolder(absl::string_view name, absl::string_view root) {
  const size_t shard = name.find(".tar:");
  if (shard != absl::string_view::npos) {
    name.remove_prefix(shard + 5);
  } else {
    if (absl::StrContains(root, "://")) root = root.substr(0, root.find('{'));
    if (!absl::StartsWith(name, root)) return "";
    name.remove_prefix(root.size());
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  }
  const size_t slash = name.find('/');
  return slash == absl::string_view::npos ? ""
                                          : std::string(name.substr(0, slash));
}

void KeepClassified(const std::string& root, DataFolder* listing) {
  const auto has_class = [&](const std::string& path) {
    return !ClassFolder(path, root).empty();
  };
  std::vector<std::string>& paths = listing->paths;
  if (std::none_of(paths.begin(), paths.end(), has_class)) return;
  const auto rest =
      std::stable_partition(paths.begin(), paths.end(), has_class);
  for (auto path = rest; path != paths.end(); ++path) {
    listing->left_out.Add("beside the class folders", *path);
  }
  paths.erase(rest, paths.end());
}

absl::StatusOr<ItemClasses> NumberClasses(
    const std::string& place, const std::vector<std::string>& class_of,
    const std::vector<std::string>& folders,
    const std::vector<std::string>& known) {
  std::set<std::string> used(class_of.begin(), class_of.end());
  used.erase("");
  ItemClasses classes;
  classes.labels.assign(class_of.size(), -1);
  if (used.empty() && known.empty()) return classes;
  if (used.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place,
        ": no item is in the folder of a class; it needs a folder for "
        "each class"));
  }
  std::map<std::string, int64_t> numbers;
  if (known.empty()) {
    used.insert(folders.begin(), folders.end());
    classes.names.assign(used.begin(), used.end());
  } else {
    classes.names = known;
  }
  for (const std::string& name : classes.names) {
    if (!numbers.emplace(name, numbers.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": the class \"", name, "\" is named twice"));
    }
  }
  std::vector<bool> has_items(numbers.size());
  for (size_t i = 0; i < class_of.size(); ++i) {
    if (class_of[i].empty()) continue;
    const auto number = numbers.find(class_of[i]);
    if (number == numbers.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": has a class \"", class_of[i],
          "\" that the training does not have; rename or remove this folder"));
    }
    classes.labels[i] = number->second;
    has_items[number->second] = true;
  }
  if (!known.empty()) return classes;
  std::vector<std::string> empty;
  for (size_t i = 0; i < has_items.size(); ++i) {
    if (!has_items[i]) empty.push_back(classes.names[i]);
  }
  if (empty.empty()) return classes;
  // As ImageFolder says it.
  return absl::NotFoundError(
      absl::StrCat(place, ": found no valid file for the classes ",
                   FirstOf(std::move(empty)),
                   "; remove these folders, or name the classes"));
}

}  // namespace feedrate
