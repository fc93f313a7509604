// What a duel of programs that nobody trusts does around each run: a value that
// the program has never seen, confinement, and a look at what it printed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/confinement.h"
#include "lib/gate/duel/timed_command.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// In a command: the value.
inline constexpr char kSeedPlace[] = "{seed}";
inline constexpr char kDistrust[] = "distrust";

class Distrust {
 public:
  // This process becomes the parent of all that its commands leave behind.
  // REQUIRES: main calls RunIfConfined first.
  static absl::StatusOr<std::unique_ptr<Distrust>> Make();
  ~Distrust();
  Distrust(const Distrust&) = delete;
  Distrust& operator=(const Distrust&) = delete;

  // What the kernel does not keep the commands from, in words. Empty if they
  // are confined.
  std::string NotConfinedFrom() const;

  // The next runs get another seed, and their outputs are compared.
  void NextPair();
  // Confines the run, and puts the pair's seed into its command.
  absl::Status Prepare(TimedCommand* command);
  // Ends all processes that the run left behind, removes its folder, and sets
  // `result->fault` if it printed nothing, or something else than the
  // first run of the pair.
  void Check(TimedCommandResult* result);
  // Says in the row that this is not the job that runs without distrust.
  void Mark(Row* row) const;

 private:
  explicit Distrust(const Confinement& confinement);

  const Confinement confinement_;
  // The folder and the number of the run that is under way.
  std::string folder_;
  std::string seed_;
  bool has_output_ = false;
  // What the first run of the pair printed.
  std::string output_;
};

}  // namespace feedrate
