// What can be wrong with trainings before anything runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job.pb.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_run.h"

namespace feedrate {

// Checks jobs, and keeps what it finds on the way: programs and stores.
class TrainChecks {
 public:
  // `options` outlives this object. `folders` are the folders or addresses of
  // data sets by their short names, `python` the interpreter of subjects.
  TrainChecks(const TrainRunOptions& options,
              std::map<std::string, std::string> folders, std::string python)
      : options_(options),
        folders_(std::move(folders)),
        python_(std::move(python)) {}

  // The error says which flag is wrong, or what is missing. Lists a store once,
  // and imports a subject once.
  absl::Status Check(const Catalogue& catalogue, const Job& job,
                     const TrainSettings& settings);

  // REQUIRES: a job with it was checked.
  const WorkerCommand& worker(const std::string& library) const {
    return commands_.at(library);
  }
  const std::string& folder(const std::string& dataset) const {
    return folders_.at(dataset);
  }
  // The program of a loader that is not ours, or null.
  const WorkerCommand* feeder(const std::string& loader) const {
    const auto found = feeders_.find(loader);
    return found == feeders_.end() ? nullptr : &found->second;
  }
  // How to reach the store at an address; null if it is none.
  const std::map<std::string, std::string>* store(
      const std::string& place) const {
    const auto found = stores_.find(place);
    return found == stores_.end() ? nullptr : &found->second;
  }
  // Words for the steps of a loader's recipe. Empty for a flip.
  std::vector<std::string> RecipeWords(const TrainSettings& settings) const {
    const auto found = recipes_.find({settings.augment, settings.loader});
    return found == recipes_.end() ? std::vector<std::string>() : found->second;
  }
  // What to say about the checkpoint to continue from and the data, once.
  std::set<std::string> TakeWarnings() { return std::exchange(warnings_, {}); }

 private:
  absl::Status FindPrograms(const WorkerPlaces& places, const Job& job,
                            const std::string& loader);
  // Whether the loader can read the images at `place`, a folder, shards or a
  // store.
  absl::Status CheckData(const std::string& place, const std::string& loader);
  absl::Status CheckStore(const std::string& url);
  // Finds how the loader's library does the augmentation.
  absl::Status FindRecipe(const Catalogue& catalogue,
                          const TrainSettings& settings);
  absl::Status CheckSubject(const Catalogue& catalogue, const Job& job) const;
  absl::Status CheckDevice(const Job& job) const;
  absl::Status CheckResume(const Job& job, const TrainSettings& settings);
  // The files of --import and --export.
  absl::Status CheckWeightFiles(const Job& job,
                                const TrainSettings& settings) const;
  // Whether the classes of a local folder are those of the model.
  absl::Status CheckClasses(const Job& job, const TrainSettings& settings);
  absl::Status CheckValidation(const Job& job,
                               const TrainSettings& settings) const;

  const TrainRunOptions& options_;
  const std::map<std::string, std::string> folders_;
  const std::string python_;
  std::map<std::string, std::map<std::string, std::string>> stores_;
  // Classes of local folders by path.
  std::map<std::string, std::vector<std::string>> classes_;
  std::map<std::string, WorkerCommand> commands_;
  std::map<std::string, WorkerCommand> feeders_;
  // By augmentation and loader.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      recipes_;
  std::set<std::string> warnings_;
};

// InvalidArgument names the flag. Makes the folder of traces.
absl::Status CheckTrainOptions(const TrainRunOptions& options);

// InvalidArgument if one training would continue what another one of this run
// has saved. Sets the largest number of processes of a training: those with
// fewer save nothing.
absl::Status CheckCheckpoints(const TrainRunOptions& options,
                              const std::vector<Job>& jobs,
                              int* most_processes);

}  // namespace feedrate
