#include "lib/storage/remote/bucket_path.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/storage/remote/brace_list.h"
#include "lib/storage/remote/object_name.h"

namespace feedrate {
namespace {

bool IsBucketName(absl::string_view name) {
  return !name.empty() && name.size() <= 222 && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
         });
}

// "a/b/" and "c" of "a/b/c".
std::pair<absl::string_view, absl::string_view> SplitLast(
    absl::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t end = slash == absl::string_view::npos ? 0 : slash + 1;
  return {path.substr(0, end), path.substr(end)};
}

absl::Status At(absl::string_view url, absl::string_view wrong) {
  return absl::InvalidArgumentError(absl::StrCat(url, ": ", wrong));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BucketPath>> BucketPath::Parse(
    const std::string& url) {
  std::unique_ptr<BucketPath> path(new BucketPath);
  absl::string_view rest = url;
  const size_t colon = rest.find("://");
  if (colon == absl::string_view::npos) return At(url, "has no bucket");
  path->url_ = url;
  path->scheme_ = absl::AsciiStrToLower(rest.substr(0, colon));
  rest.remove_prefix(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  path->bucket_ = std::string(rest.substr(0, slash));
  if (!IsBucketName(path->bucket_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path->scheme_,
                     "://: needs the name of a bucket: letters, digits, "
                     "'-', '.' and '_'"));
  }
  rest.remove_prefix(slash);
  absl::ConsumePrefix(&rest, "/");
  const size_t list = FindBraceList(rest);
  if (list == absl::string_view::npos) {
    if (!rest.empty()) {
      path->prefix_ = absl::StrCat(absl::StripSuffix(rest, "/"), "/");
    }
  } else {
    const absl::string_view folder = SplitLast(rest.substr(0, list)).first;
    path->prefix_ = std::string(folder);
    auto names = ExpandBraceLists(rest.substr(folder.size()));
    if (!names.ok()) return At(url, names.status().message());
    path->fixed_names_ = *std::move(names);
  }
  if (!path->prefix_.empty()) {
    const absl::Status named =
        CheckObjectName(absl::StripSuffix(path->prefix_, "/"));
    if (!named.ok()) return At(url, named.message());
  }
  return path;
}

std::string BucketPath::KeyOf(absl::string_view name) const {
  if (!narrowed_) return absl::StrCat(prefix_, name);
  return absl::StrCat(SplitLast(absl::StripSuffix(prefix_, "/")).first, name);
}

std::string BucketPath::AddressOf(absl::string_view name) const {
  return absl::StrCat(scheme_, "://", bucket_, "/", KeyOf(name));
}

std::optional<std::string> BucketPath::NameOf(absl::string_view key) const {
  if (!absl::ConsumePrefix(&key, prefix_) || key.empty() ||
      absl::EndsWith(key, "/")) {
    return std::nullopt;
  }
  return std::string(key);
}

std::optional<std::string> BucketPath::NarrowToObject() {
  if (prefix_.empty() || absl::EndsWith(url_, "/") || !fixed_names_.empty()) {
    return std::nullopt;
  }
  narrowed_ = true;
  return std::string(SplitLast(absl::StripSuffix(prefix_, "/")).second);
}

}  // namespace feedrate
