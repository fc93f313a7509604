#include "lib/base/dataset_id.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

constexpr absl::string_view kSynthetic = "synthetic:";

absl::StatusOr<std::string> SyntheticId(absl::string_view spec) {
  std::vector<std::string> parts =
      absl::StrSplit(spec, ',', absl::SkipWhitespace());
  if (parts.empty() || absl::StrContains(parts[0], '=')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", kSynthetic, spec,
                     "\" names no kind; write synthetic:rgb,n=100,seed=1"));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == parts[i].size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", parts[i],
                       "\" is no parameter; write synthetic:rgb,n=100,seed=1"));
    }
  }
  std::sort(parts.begin() + 1, parts.end());
  return absl::StrCat(kSynthetic, absl::StrJoin(parts, ","));
}

}  // namespace

absl::StatusOr<std::string> DatasetId(absl::string_view dataset) {
  if (absl::StartsWith(dataset, kSynthetic)) {
    return SyntheticId(absl::StripPrefix(dataset, kSynthetic));
  }
  // Neither what signs an address nor where the server is names the data.
  if (absl::StartsWith(dataset, "http://") ||
      absl::StartsWith(dataset, "https://")) {
    dataset = dataset.substr(0, dataset.find('?'));
  }
  while (absl::ConsumeSuffix(&dataset, "/")) {
  }
  std::string name = BaseName(dataset);
  for (absl::string_view ending :
       {".gz", ".zst", ".tar", ".tgz", ".tfrecord", ".zip"}) {
    name = std::string(absl::StripSuffix(name, ending));
  }
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", dataset, "\" has no name to put into job ids; set data.id"));
  }
  return name;
}

bool IsRemoteDataset(absl::string_view dataset) {
  for (const absl::string_view scheme :
       {"s3://", "gs://", "http://", "https://", "file://"}) {
    if (absl::StartsWith(dataset, scheme)) return true;
  }
  return false;
}

}  // namespace feedrate
