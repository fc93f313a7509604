// Answers about equivalence that need not be worked out again.
#ifndef FEEDRATE_LIB_RUNNER_EQUIVALENCE_CACHE_H_
#define FEEDRATE_LIB_RUNNER_EQUIVALENCE_CACHE_H_

#include <map>
#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// A file of lines, each a key and an `equivalence` record. Several programs may
// add to it at once; a line that does not parse is passed over. What cannot be
// read or written costs time, not the run. Not thread-safe.
class EquivalenceCache {
 public:
  // Reads `path`, which need not exist.
  explicit EquivalenceCache(const std::string& path);

  // Null when it is not there.
  const Equivalence* Find(const std::string& key) const;
  void Add(const std::string& key, const Equivalence& equivalence);

 private:
  const std::string path_;
  std::map<std::string, Equivalence> known_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EQUIVALENCE_CACHE_H_
