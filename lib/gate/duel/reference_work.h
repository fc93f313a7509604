// Short reference workloads that show in which state a run left the machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace feedrate {

// Work bound by the processor (integer arithmetic), by memory (a copy of 8 MiB)
// and by the disk (256 KiB written through to a temporary file). Each takes a
// few milliseconds and runs twice, because the first pass depends on what the
// run before left in the caches. Child processes do not get the memory, so it
// does not count as theirs.
class ReferenceWork {
 public:
  // Runs on `cpus`. Empty: wherever this thread may run.
  explicit ReferenceWork(std::vector<int> cpus);
  ReferenceWork(const ReferenceWork&) = delete;
  ReferenceWork& operator=(const ReferenceWork&) = delete;
  ~ReferenceWork();

  struct Result {
    std::string name;
    double seconds = 0;
  };
  // Times the second pass of each. Leaves out the disk if the file cannot be
  // written.
  std::vector<Result> Run();

 private:
  const std::vector<int> cpus_;
  char* const memory_;
  int fd_ = -1;
};

}  // namespace feedrate
