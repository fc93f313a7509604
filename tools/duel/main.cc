// Runs two commands alternately, so that slow drift in machine speed affects
// both equally.
//
//   bazel run //tools/duel -- --a='sleep 0.1' --b='sleep 0.103'
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/confinement.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_main.h"
#include "lib/gate/duel/run_duel.h"
#include "tools/duel/flags.h"

namespace feedrate {
namespace {

absl::StatusOr<ExitCode> Run(const std::vector<std::string>& args) {
  ASSIGN_OR_RETURN(DuelRun run, RunOfFlags(args));
  return RunDuelProgram(std::move(run));
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::RunIfConfined(argc, argv);
  std::vector<std::string> args = feedrate::JoinRepeated(argc, argv);
  std::vector<char*> pointers;
  for (std::string& arg : args) pointers.push_back(&arg[0]);
  return feedrate::ToolMain(static_cast<int>(pointers.size()), pointers.data(),
                            feedrate::DuelInfo(), feedrate::Run);
}
