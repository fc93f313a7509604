#include "lib/runner/worker_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/runner/cache_folder.h"

namespace feedrate {
namespace {

// Digits of the lock's hash in an environment's name; dev/python_env.sh has the
// same.
constexpr size_t kHashDigits = 16;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Libraries that would ask the network, or write beside their sources.
std::map<std::string, std::string> QuietPython() {
  return {{"PYTHONDONTWRITEBYTECODE", "1"},
          {"PYTHONNOUSERSITE", "1"},
          {"PYTHONHASHSEED", "0"},
          {"PYTHONUNBUFFERED", "1"},
          {"NO_ALBUMENTATIONS_UPDATE", "1"},
          {"ALBUMENTATIONS_OFFLINE", "1"},
          {"ALBUMENTATIONS_NO_TELEMETRY", "1"},
          {"DO_NOT_TRACK", "1"},
          {"HF_HUB_OFFLINE", "1"}};
}

absl::StatusOr<std::string> FindServer(const WorkerPlaces& places) {
  for (const std::string& folder : places.folders) {
    for (const char* name :
         {"lib/adapters/python/server.py", "python/server.py"}) {
      const std::string path = JoinPath(folder, name);
      if (IsFile(path)) return path;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("lib/adapters/python/server.py is in none of ",
                   absl::StrJoin(places.folders, ", "),
                   "; name its folder with $FEEDRATE_WORKERS"));
}

// Where a library's worker is built.
std::string PackageOf(const std::string& library) {
  if (library == "native") return "lib/loader/worker";
  if (library == "cuda" || library == "nvdec") {
    return absl::StrCat("lib/loader/", library);
  }
  return absl::StrCat("lib/adapters/", library);
}

// The environment of a lock, whatever Python made it.
absl::StatusOr<std::string> FindEnvironment(const WorkerPlaces& places,
                                            const std::string& env_set,
                                            const std::string& group) {
  const std::string lock =
      JoinPath(places.configs,
               absl::StrCat("requirements/", env_set, "/", group, ".lock"));
  ASSIGN_OR_RETURN(const std::string content, ReadFile(lock));
  const std::string start = absl::StrCat(
      group, "-", Sha256Hex(content).substr(0, kHashDigits), "-py");
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(places.environments, error)) {
    const std::string path = entry.path().string();
    if (absl::StartsWith(BaseName(path), start) &&
        IsFile(JoinPath(path, ".complete"))) {
      return path;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("the Python environment \"", group, "\" of the set \"",
                   env_set, "\" is not there; run: make envs",
                   env_set == "paper" ? "" : absl::StrCat(" ENV_SET=", env_set),
                   "; in a bundle: feedrate envs"));
}

}  // namespace

WorkerPlaces PlacesOfThisProgram(const std::string& configs) {
  WorkerPlaces places;
  places.configs = configs;
  places.environments = JoinPath(CacheFolder(), "venvs");
  places.folders =
      absl::StrSplit(Variable("FEEDRATE_WORKERS"), ':', absl::SkipEmpty());
  const absl::StatusOr<std::string> program = ProgramPath();
  if (program.ok()) {
    const std::string folder = ParentFolder(*program);
    places.folders.push_back(absl::StrCat(*program, ".runfiles/feedrate"));
    // tools/NAME/NAME in a build tree, or in another program's runfiles.
    places.folders.push_back(ParentFolder(ParentFolder(folder)));
    places.folders.push_back(JoinPath(ParentFolder(folder), "libexec"));
  }
  return places;
}

absl::StatusOr<WorkerCommand> NativeWorker(const WorkerPlaces& places,
                                           const std::string& library) {
  const std::string name = absl::StrCat("worker_", library);
  for (const std::string& folder : places.folders) {
    for (const std::string& path :
         {JoinPath(folder, name),
          JoinPath(folder, absl::StrCat(PackageOf(library), "/", name))}) {
      if (IsFile(path) && access(path.c_str(), X_OK) == 0) {
        return WorkerCommand{{path}, {}};
      }
    }
  }
  const bool needs_cuda = library == "cuda" || library == "nvdec";
  return absl::NotFoundError(absl::StrCat(
      "no program ", name, "; run: ",
      library == "torch" ? "make torch, then " : "", "dev/bazel.sh build ",
      needs_cuda ? "--config=cuda " : "", "//", PackageOf(library), ":", name));
}

absl::StatusOr<WorkerCommand> PythonWorker(const WorkerPlaces& places,
                                           const PythonServer& server) {
  ASSIGN_OR_RETURN(const std::string program, FindServer(places));
  ASSIGN_OR_RETURN(const std::string environment,
                   FindEnvironment(places, server.env_set, server.env_group));
  WorkerCommand command;
  command.argv = {
      JoinPath(environment, "bin/python"), program,
      absl::StrCat("--libraries=", absl::StrJoin(server.libraries, ","))};
  if (server.loader) command.argv.push_back("--loader");
  if (!server.packages_group.empty()) {
    ASSIGN_OR_RETURN(
        const std::string packages,
        FindEnvironment(places, server.env_set, server.packages_group));
    command.argv.push_back(absl::StrCat("--packages=", packages));
  }
  command.environment = QuietPython();
  return command;
}

}  // namespace feedrate
