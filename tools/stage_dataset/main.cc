// stage_dataset: puts a data set on local disk, once, safely, and faster than
// tar.
//
//   bazel run //tools/stage_dataset -- --source=val.tar --dest=/mnt/nvme/val
//
// One static binary that needs nothing installed: it is the first program to
// run on a bare machine.
#include <cxxabi.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "lib/staging/stage.h"
#include "lib/staging/subprocess.h"
#include "lib/tar/status.h"
#include "tools/stage_dataset/flags.h"

namespace feedrate {
namespace {

constexpr int kInterrupted = 130;

// A killed run can be continued, so there is nothing to clean up.
void OnSignal(int) {
  static constexpr char kMessage[] =
      "\nstage_dataset: interrupted; run it again to go on\n";
  tar::KillAllSubprocesses();
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kInterrupted);
}

void HandleSignals() {
  // A reader that is gone, or a file over the limit of `ulimit -f`, is an error
  // with a message.
  for (int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = &OnSignal;
    sigaction(number, &action, nullptr);
  }
}

// A thread or memory that the system refuses; what is staged stays. This file
// is compiled without exceptions, but the standard library throws them.
[[noreturn]] void OnTerminate() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  const std::string_view name = type == nullptr ? "" : type->name();
  const char* what = nullptr;
  if (name == "St12system_error") what = "cannot start a thread";
  if (name == "St9bad_alloc") what = "out of memory";
  if (what == nullptr) abort();  // A bug.
  tar::KillAllSubprocesses();
  fprintf(stderr,
          "stage_dataset: %s; run it again to go on, with more memory and "
          "processes (ulimit -v, -u) or with --threads=1\n",
          what);
  _exit(tar::Status::kRunFailed);
}

int Complain(const tar::Status& status) {
  fprintf(stderr, "stage_dataset: %s\n", status.message().c_str());
  return status.exit_code();
}

// Output that does not reach its reader is a failure.
int Print(const char* text) {
  if (fputs(text, stdout) >= 0 && fflush(stdout) == 0) return 0;
  if (errno == EPIPE) {
    // The reader is gone: end like every other program.
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
  return Complain(tar::Failed(std::string("standard output: cannot write: ") +
                              strerror(errno)));
}

// This program links nothing that reads pictures, so another one does it.
std::string FindPipeline() {
  char own[PATH_MAX] = "";
  if (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0) {
    const std::string folder(own, strrchr(own, '/') - own);
    for (const char* place : {"/pipeline", "/../pipeline/pipeline"}) {
      const std::string path = tar::FindProgram(folder + place);
      if (!path.empty()) return path;
    }
  }
  return tar::FindProgram("pipeline");
}

tar::Status MakeIndex(const std::string& folder) {
  const std::string program = FindPipeline();
  if (program.empty()) {
    return tar::Failed(
        "--index: needs the program pipeline, beside this one or on the PATH; "
        "the data set is staged");
  }
  // From the root, so that no name of a folder looks like an address.
  char* const root = realpath(folder.c_str(), nullptr);
  const std::string place = root == nullptr ? folder : root;
  free(root);
  std::string ignored;
  return tar::RunProgram({program, "--dataset=" + place,
                          "--make_index=" + place + "/feedrate.jpegindex"},
                         /*timeout_s=*/0, &ignored);
}

int Run(const std::vector<std::string>& arguments) {
  Flags flags;
  if (tar::Status status = ParseFlags(arguments, &flags); !status.ok()) {
    return Complain(status);
  }
  if (flags.help) return Print(kHelp);
  const std::string version = kVersion;
  if (flags.version) return Print(("stage_dataset " + version + "\n").c_str());
  if (!flags.completion.empty()) {
    std::string script;
    const tar::Status status = CompletionScript(flags.completion, &script);
    return status.ok() ? Print(script.c_str()) : Complain(status);
  }
  flags.options.tool_version = version;
  tar::StageReport report;
  if (tar::Status status = tar::Stage(flags.options, &report); !status.ok()) {
    return Complain(status);
  }
  fprintf(stderr, "stage_dataset: %s\n", tar::ReportLine(report).c_str());
  if (flags.index) {
    if (tar::Status status = MakeIndex(flags.options.dest); !status.ok()) {
      return Complain(status);
    }
    fprintf(stderr, "stage_dataset: made %s/feedrate.jpegindex\n",
            flags.options.dest.c_str());
  }
  if (!flags.json) return 0;
  return Print((tar::ReportJson(report, version) + "\n").c_str());
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::HandleSignals();
  std::set_terminate(&feedrate::OnTerminate);
  return feedrate::Run(std::vector<std::string>(argv + 1, argv + argc));
}
