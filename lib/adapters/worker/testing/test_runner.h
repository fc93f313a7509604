// A runner for tests: a server in a process of its own, children, their pipes.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_TEST_RUNNER_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_TEST_RUNNER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/line_reader.h"
#include "lib/worker/message.h"

namespace feedrate {

// The runner's side of one child.
class TestChild {
 public:
  TestChild(pid_t pid, int commands, int replies, int errors);
  ~TestChild();

  pid_t pid() const { return pid_; }
  // The line's newline may be left out.
  void Send(const std::string& line);
  // The next line, or why there is none.
  absl::StatusOr<std::string> Receive() { return reader_.Next(); }
  absl::StatusOr<std::string> Ask(const std::string& line);
  // `prepare` of `transform`, with its own name as native_op.
  absl::StatusOr<std::string> Prepare(const std::string& library,
                                      const std::string& transform,
                                      const std::vector<std::string>& params);
  // `time` and `output`, their fields left out as far as they do not matter.
  absl::StatusOr<std::string> Time(int64_t count, int64_t chunk = 1);
  absl::StatusOr<std::string> Outputs(const std::vector<int64_t>& indexes);
  // The end of the commands.
  void HangUp();
  // Everything it says on standard error until it is gone.
  std::string Errors();

 private:
  pid_t pid_;
  int commands_;
  int replies_;
  int errors_;
  LineReader reader_;
};

// Forks a server for `adapter` and has read its hello.
class TestRunner {
 public:
  explicit TestRunner(std::unique_ptr<Adapter> adapter);
  // Hangs up and waits for the server.
  ~TestRunner();

  const Hello& hello() const { return hello_; }
  int control() const { return control_; }
  absl::StatusOr<std::string> Ask(const std::string& line);
  std::unique_ptr<TestChild> Spawn(const std::string& library,
                                   const Corpus& corpus);
  absl::StatusOr<ChildInfo> Reap(pid_t pid);
  // Hangs up; the server's wait status.
  int Stop();

 private:
  pid_t server_ = -1;
  int control_ = -1;
  std::unique_ptr<LineReader> reader_;
  Hello hello_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_TEST_RUNNER_H_
