#include "lib/runner/train/train_worker.h"

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/runner/train/train_settings.h"

namespace feedrate {
namespace {

// A script of lib/adapters/python in an environment of the set `paper`.
absl::StatusOr<WorkerCommand> PythonScript(const WorkerPlaces& places,
                                           const std::string& group,
                                           const std::string& script) {
  PythonServer server;
  server.env_set = "paper";
  server.env_group = group;
  ASSIGN_OR_RETURN(WorkerCommand command, PythonWorker(places, server));
  const std::string folder = ParentFolder(command.argv[1]);
  command.argv = {command.argv[0], JoinPath(folder, script)};
  return command;
}

}  // namespace

absl::StatusOr<std::string> ModelWorker(const WorkerPlaces& places,
                                        const std::string& name) {
  for (const std::string& folder : places.folders) {
    for (const std::string& path :
         {JoinPath(folder, name),
          JoinPath(folder, absl::StrCat("lib/model/worker/", name))}) {
      if (IsFile(path) && access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "no program ", name,
      "; run: make torch, then dev/bazel.sh build //lib/model/worker:", name));
}

absl::StatusOr<WorkerCommand> TrainWorker(const WorkerPlaces& places,
                                          const std::string& library) {
  if (library == kTrainLibrary) {
    ASSIGN_OR_RETURN(const std::string path,
                     ModelWorker(places, "worker_train"));
    return WorkerCommand{{path}, {}};
  }
  ASSIGN_OR_RETURN(WorkerCommand command,
                   PythonScript(places, "torch_stack", "train_worker.py"));
  command.argv.push_back(absl::StrCat("library=", library));
  return command;
}

absl::StatusOr<WorkerCommand> FeederWorker(const WorkerPlaces& places,
                                           const std::string& loader) {
  return PythonScript(places, loader == "dali" ? "dali" : "torch_stack",
                      "feed.py");
}

}  // namespace feedrate
