#include "lib/runner/equivalence_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/unique_fd.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {

EquivalenceCache::EquivalenceCache(const std::string& path) : path_(path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return;
  JsonReader reader;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    Equivalence equivalence;
    const absl::StatusOr<std::string> record = reader.Open(parts.second);
    if (record.ok() && *record == "equivalence" &&
        reader.Read(&equivalence).ok() && !equivalence.label().empty()) {
      known_[std::string(parts.first)] = equivalence;
    }
  }
}

const Equivalence* EquivalenceCache::Find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

void EquivalenceCache::Add(const std::string& key,
                           const Equivalence& equivalence) {
  known_[key] = equivalence;
  // In front too: what another program left torn must not swallow this.
  std::string line = absl::StrCat("\n", key, "\t");
  AppendRecord(equivalence, &line);
  MakeFolder(ParentFolder(path_)).IgnoreError();
  const UniqueFd file(
      open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  // One write, so that lines of several programs do not mix.
  if (file.valid() && write(file.get(), line.data(), line.size()) < 0) return;
}

}  // namespace feedrate
