#include "lib/planning/emit/cloud_paths.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

constexpr size_t kRunIdDigits = 32;
constexpr size_t kKeyDigits = 16;
// Parts of an instance's name, so that the whole fits into 63 characters.
constexpr size_t kMachineTypeChars = 24;
constexpr size_t kInstanceDigits = 12;

}  // namespace

CloudPaths PathsOfRun(const CloudRun& run) {
  CloudPaths paths;
  paths.run_id = Sha256Hex(absl::StrCat(run.campaign_id, "\n", run.task))
                     .substr(0, kRunIdDigits);
  paths.instance =
      absl::StrCat("benchmark-", run.machine_type.substr(0, kMachineTypeChars),
                   "-", paths.run_id.substr(0, kInstanceDigits));
  paths.folder =
      absl::StrCat(run.bucket, "/augmentation-results/", paths.run_id, "/");
  paths.jobs = paths.folder + "jobs.jsonl";
  paths.bootstrap = paths.folder + "bootstrap.sh";
  paths.rows = absl::StrCat(paths.folder, "results/", run.task, ".jsonl");
  paths.log = paths.folder + "vm.log";
  paths.exit_code = paths.folder + "exit_code.txt";
  paths.meta = paths.folder + "run_meta.json";
  paths.done = paths.folder + "DONE";
  paths.failed = paths.folder + "FAILED";
  paths.bundle =
      absl::StrCat(run.bucket, "/augmentation-cache/bundle-",
                   run.bundle_sha256.substr(0, kKeyDigits), ".tar.gz");
  if (!run.archive.empty()) {
    paths.archive = absl::StrCat(run.bucket, "/", run.archive);
  }
  paths.env_cache =
      absl::StrCat(run.bucket, "/augmentation-cache/venvs-", run.image_family,
                   "-", run.env_key.substr(0, kKeyDigits), ".tar.gz");
  return paths;
}

}  // namespace feedrate
