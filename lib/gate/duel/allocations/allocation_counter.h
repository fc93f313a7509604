// Counts the allocations of all processes of a command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/gate/duel/allocations/counted.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Not thread-safe. One command at a time.
class AllocationCounter {
 public:
  // Writes the library that is loaded into the processes, and the file of
  // counts, into a temporary folder.
  static absl::StatusOr<std::unique_ptr<AllocationCounter>> Make();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // What the command needs in its environment.
  const std::vector<std::string>& variables() const { return variables_; }

  // Forgets what was counted. Call it before a command starts.
  void Reset();

  // Sets `allocations` and `allocated_bytes` to what was counted since Reset.
  // FailedPrecondition, with the reason, if a process was not counted.
  absl::Status Read(Usage* usage) const;

 private:
  AllocationCounter(std::string folder, CountedAllocations* counted,
                    std::vector<std::string> variables)
      : folder_(std::move(folder)),
        counted_(counted),
        variables_(std::move(variables)) {}

  const std::string folder_;
  CountedAllocations* const counted_;
  const std::vector<std::string> variables_;
};

}  // namespace feedrate
