#include "lib/runner/server_pool.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/worker_command.h"
#include "lib/worker/message.h"
#include "lib/worker/server.h"

namespace feedrate {

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
  ASSIGN_OR_RETURN(WorkerCommand command, entry->is_python
                                              ? PythonWorker(places_, python)
                                              : NativeWorker(places_, name));
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

absl::Status ServerPool::Add(const Job& job) {
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
    // Children of the dead one may still point to it.
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
  const auto& versions = found->second.hello.versions;
  const auto version = versions.find(job.library());
  return version == versions.end() ? "" : version->second;
}

std::map<std::string, std::string> ServerPool::Versions() const {
  std::map<std::string, std::string> versions;
  for (const auto& [key, entry] : entries_) {
    for (const auto& version : entry.hello.versions) versions.insert(version);
  }
  return versions;
}

std::vector<std::string> ServerPool::names() const {
  std::vector<std::string> names;
  for (const auto& [key, entry] : entries_) names.push_back(entry.options.name);
  return names;
}

}  // namespace feedrate
