#include "lib/runner/core/workers.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/draw/progress.h"
#include "lib/hash/sha256.h"
#include "lib/planning/subjects.h"
#include "lib/records/job.pb.h"
#include "lib/runner/core/job_settings.h"

namespace feedrate {
namespace {

// Digits of the lock's hash in an environment's name, as in dev/python_env.sh.
constexpr size_t kHashDigits = 16;

// Keeps libraries from using the network or writing beside their sources.
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

// What makes it, as people call it here: through `feedrate` from a wheel or a
// bundle, else as in a checkout.
std::string EnvironmentCommand(const std::string& env_set,
                               const std::string& group) {
  const std::string set =
      env_set == "paper" ? "" : absl::StrCat("ENV_SET=", env_set, " ");
  if (std::getenv("FEEDRATE_COMMAND") != nullptr) {
    return absl::StrCat(set, ProgramCommand("envs"), " ", group);
  }
  return absl::StrCat("make envs ", set, "GROUPS=", group,
                      "; in a bundle: ", set, "feedrate envs ", group);
}

// The environment of a lock file, for any version of Python.
absl::StatusOr<std::string> FindEnvironment(const WorkerPlaces& places,
                                            const std::string& env_set,
                                            const std::string& group) {
  const std::string lock =
      JoinPath(places.configs,
               absl::StrCat("requirements/", env_set, "/", group, ".lock"));
  ASSIGN_OR_RETURN(const std::string content, ReadFile(lock));
  const std::string start = absl::StrCat(
      group, "-", Sha256Hex(content).substr(0, kHashDigits), "-py");
  ASSIGN_OR_RETURN(const std::string folder, places.environments);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (absl::StartsWith(BaseName(path), start) &&
        IsFile(JoinPath(path, ".complete"))) {
      // Programs are run from there.
      RETURN_IF_ERROR(CheckPrivateFolder(folder));
      RETURN_IF_ERROR(CheckPrivateFolder(path));
      return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "the Python environment \"", group, "\" of the set \"", env_set,
      "\" is not there; run: ", EnvironmentCommand(env_set, group)));
}

}  // namespace

WorkerPlaces PlacesOfThisProgram(const std::string& configs) {
  WorkerPlaces places;
  places.configs = configs;
  places.environments = CacheFolder();
  if (places.environments.ok()) {
    places.environments = JoinPath(*places.environments, "venvs");
  }
  places.folders = WorkerFolders();
  return places;
}

WorkerProgram NativeWorker(const Catalogue& catalogue,
                           const std::string& library) {
  WorkerProgram program = {absl::StrCat("worker_", library),
                           absl::StrCat("lib/adapters/", library)};
  const Library* const found = catalogue.FindLibrary(library);
  if (found == nullptr) return program;
  program.build_config = found->worker_build_config();
  program.build_first = found->worker_build_first();
  return program;
}

absl::StatusOr<std::string> FindProgram(const WorkerPlaces& places,
                                        const WorkerProgram& program) {
  for (const std::string& folder : places.folders) {
    for (const std::string& path :
         {JoinPath(folder, program.name),
          JoinPath(folder, absl::StrCat(program.package, "/", program.name))}) {
      if (IsFile(path) && access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "no program ", program.name, "; in a checkout run: ", program.build_first,
      program.build_first.empty() ? "" : ", then ", "dev/bazel.sh build ",
      program.build_config.empty()
          ? ""
          : absl::StrCat("--config=", program.build_config, " "),
      "//", program.package, ":", program.name));
}

absl::StatusOr<WorkerCommand> PythonWorker(const WorkerPlaces& places,
                                           const PythonServer& server) {
  ASSIGN_OR_RETURN(const std::string program, FindPythonServer(places.folders));
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

absl::StatusOr<WorkerCommand> SubjectWorker(const WorkerPlaces& places,
                                            const std::string& subject,
                                            bool loader) {
  WorkerCommand command;
  ASSIGN_OR_RETURN(const std::string python, FindInterpreter(places.python));
  ASSIGN_OR_RETURN(const std::string program, FindPythonServer(places.folders));
  command.argv = places.subject_prefix;
  for (const std::string& word :
       {python, program, absl::StrCat("--subject=", subject)}) {
    command.argv.push_back(word);
  }
  if (loader) command.argv.push_back("--loader");
  command.environment = QuietPython();
  // It may need what the user has installed, and the network.
  for (const char* name : {"PYTHONNOUSERSITE", "HF_HUB_OFFLINE"}) {
    command.environment.erase(name);
  }
  return command;
}

ServerPool::ServerPool(const Catalogue& catalogue, WorkerPlaces places,
                       int interrupt_fd)
    : catalogue_(catalogue),
      places_(std::move(places)),
      interrupt_fd_(interrupt_fd) {}

ServerPool::Key ServerPool::KeyOf(const Job& job) {
  const bool loader = IsLoaderJob(job);
  if (job.env_group().empty()) {
    return {"", job.library(), job.thread_policy(), loader};
  }
  return {job.env_set(), job.env_group(), job.thread_policy(), loader};
}

const ThreadPolicy* ServerPool::FindThreads(const std::string& name) const {
  for (const ThreadPolicy& policy : catalogue_.policy().threads()) {
    if (policy.name() == name) return &policy;
  }
  return nullptr;
}

absl::Status ServerPool::SetCommand(const Key& key, Entry* entry) const {
  const auto& [env_set, name, thread_policy, loader] = key;
  PythonServer python{env_set, name, entry->libraries, loader, ""};
  if (loader) {
    for (const std::string& library : entry->libraries) {
      const Library* const found = catalogue_.FindLibrary(library);
      if (found != nullptr) python.packages_group = found->loader_packages();
    }
  }
  WorkerCommand command;
  if (IsSubject(name)) {
    ASSIGN_OR_RETURN(command, SubjectWorker(places_, name, loader));
  } else if (entry->is_python) {
    ASSIGN_OR_RETURN(command, PythonWorker(places_, python));
  } else {
    ASSIGN_OR_RETURN(command.argv.emplace_back(),
                     FindProgram(places_, NativeWorker(catalogue_, name)));
  }
  const ThreadPolicy* threads = FindThreads(thread_policy);
  if (threads == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("thread policy \"", thread_policy, "\" is unknown"));
  }
  for (const auto& [variable, value] : threads->environment()) {
    command.environment[variable] = value;
  }
  entry->options.name = absl::StrJoin(entry->libraries, ", ");
  entry->options.argv = std::move(command.argv);
  entry->options.environment = std::move(command.environment);
  entry->options.interrupt_fd = interrupt_fd_;
  return absl::OkStatus();
}

namespace {

// Whether the library exists for this processor.
absl::Status CheckMachine(const Library* library) {
  utsname names;
  if (library == nullptr || !library->has_only_machine() ||
      uname(&names) != 0 || library->only_machine() == names.machine) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(library->name(), ": its packages exist only for ",
                   library->only_machine(), ", not for ", names.machine));
}

}  // namespace

absl::Status ServerPool::Add(const Job& job) {
  RETURN_IF_ERROR(CheckMachine(catalogue_.FindLibrary(job.library())));
  const Key key = KeyOf(job);
  Entry entry = {{}, !job.env_group().empty(), {}, nullptr, {}};
  const auto known = entries_.find(key);
  if (known != entries_.end()) entry.libraries = known->second.libraries;
  const std::vector<std::string>& libraries = entry.libraries;
  if (std::find(libraries.begin(), libraries.end(), job.library()) !=
      libraries.end()) {
    return absl::OkStatus();
  }
  entry.libraries.push_back(job.library());
  const absl::Status set = SetCommand(key, &entry);
  if (!set.ok()) {
    return absl::Status(set.code(),
                        absl::StrCat(job.library(), ": ", set.message()));
  }
  entries_[key] = std::move(entry);
  return absl::OkStatus();
}

absl::Status ServerPool::Start() {
  for (auto& [key, entry] : entries_) {
    if (entry.server != nullptr) continue;
    ASSIGN_OR_RETURN(entry.server, LibraryServer::Start(entry.options));
  }
  return absl::OkStatus();
}

absl::StatusOr<LibraryServer*> ServerPool::Get(const Job& job) {
  const auto found = entries_.find(KeyOf(job));
  if (found == entries_.end()) {
    return absl::InternalError(absl::StrCat(job.library(), " was not added"));
  }
  Entry& entry = found->second;
  if (entry.server == nullptr || entry.server->pid() < 0) {
    // Children of the dead server may still point to it.
    retired_.push_back(std::move(entry.server));
    ASSIGN_OR_RETURN(entry.server, LibraryServer::Start(entry.options));
  }
  ASSIGN_OR_RETURN(entry.hello,
                   entry.server->WaitReady(absl::Seconds(
                       catalogue_.policy().measuring().import_limit_s())));
  return entry.server.get();
}

std::string ServerPool::VersionOf(const Job& job) const {
  const auto found = entries_.find(KeyOf(job));
  if (found == entries_.end()) return "";
  const auto& versions = found->second.hello.versions();
  const auto version = versions.find(job.library());
  return version == versions.end() ? "" : version->second;
}

std::map<std::string, std::string> ServerPool::Versions() const {
  std::map<std::string, std::string> versions;
  for (const auto& [key, entry] : entries_) {
    versions.insert(entry.hello.versions().begin(),
                    entry.hello.versions().end());
  }
  return versions;
}

absl::Status AddLibraries(bool skip_missing, const Warn& warn,
                          ServerPool* servers, std::vector<Job>* jobs) {
  std::set<std::string> missing;
  for (const Job& job : *jobs) {
    if (job.has_unsupported_reason() || missing.count(job.library()) > 0) {
      continue;
    }
    const absl::Status added = servers->Add(job);
    if (added.ok()) continue;
    if (!skip_missing) {
      return absl::Status(
          added.code(), absl::StrCat(added.message(),
                                     ", or leave it out with --skip_missing"));
    }
    warn(absl::StrCat("left out ", added.message()));
    missing.insert(job.library());
  }
  jobs->erase(std::remove_if(jobs->begin(), jobs->end(),
                             [&](const Job& job) {
                               return missing.count(job.library()) > 0;
                             }),
              jobs->end());
  if (!jobs->empty()) return absl::OkStatus();
  return absl::NotFoundError("no library is left to measure");
}

absl::Status WaitForLibraries(const std::vector<Job>& jobs, const Warn& warn,
                              Progress* progress, ServerPool* servers) {
  std::set<std::string> seen;
  std::vector<const Job*> firsts;
  for (const Job& job : jobs) {
    if (job.has_unsupported_reason()) continue;
    if (seen.insert(job.library()).second) firsts.push_back(&job);
  }
  for (size_t i = 0; i < firsts.size(); ++i) {
    progress->Show("libraries", i, firsts.size(), firsts[i]->library());
    const absl::Status ready = servers->Get(*firsts[i]).status();
    if (ready.code() == absl::StatusCode::kCancelled) return ready;
    if (!ready.ok()) {
      warn(absl::StrCat(firsts[i]->library(),
                        ": does not load: ", ready.message()));
    }
  }
  progress->Finish();
  return absl::OkStatus();
}

}  // namespace feedrate
