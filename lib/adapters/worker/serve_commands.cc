#include "lib/adapters/worker/serve_commands.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/child_session.h"
#include "lib/adapters/worker/line_reader.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

constexpr int kStderr = 2;

// What ends a child is said on standard error, which the runner keeps, and in
// an answer, in case it still listens.
int GiveUp(int replies, const absl::Status& status) {
  const std::string message =
      absl::StrCat("a worker got no command: ", status.message());
  // Nobody is left to tell when these fail.
  WriteLine(kStderr, absl::StrCat(message, "\n")).IgnoreError();
  WriteLine(replies, ErrorLine(message)).IgnoreError();
  return 1;
}

}  // namespace

int ServeCommands(int commands, int replies, int input_fd, Adapter* adapter) {
  ChildSession session(adapter, input_fd);
  LineReader reader(commands);
  for (;;) {
    const absl::StatusOr<std::string> line = reader.Next();
    if (absl::IsOutOfRange(line.status())) return 0;
    if (!line.ok()) return GiveUp(replies, line.status());
    const absl::StatusOr<std::string> reply = session.Answer(*line);
    if (!reply.ok()) return GiveUp(replies, reply.status());
    // A runner that hung up wants no more.
    if (!WriteLine(replies, *reply).ok()) return 0;
  }
}

}  // namespace feedrate
