// The inputs of a run, decoded once, in each form that a library wants.
#ifndef FEEDRATE_LIB_RUNNER_INPUT_CORPORA_H_
#define FEEDRATE_LIB_RUNNER_INPUT_CORPORA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/media/load_images.h"
#include "lib/media/video/clips.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Not thread-safe.
class InputCorpora {
 public:
  struct Input {
    // In the form that the library gets.
    const Corpus* corpus = nullptr;
    // As it was decoded: uint8, HWC, with the scenario's channels.
    const Corpus* plain = nullptr;
    Dataset dataset;
    // Of clips: the files they come from. Null for images.
    const std::vector<ClipFile>* files = nullptr;
    // To hand to a worker: the corpus, or for a decoder the list of files.
    int fd = -1;
    // Items behind it.
    int64_t size = 0;
  };
  using Progress = std::function<void(int64_t done, int64_t total)>;
  using Warn = std::function<void(const std::string&)>;

  // `dataset` is a folder or `synthetic:…`; empty: the job's id is the latter.
  // `load_clips` may be null where no job has clips. `catalogue` outlives this.
  InputCorpora(const Catalogue& catalogue, std::string dataset,
               Progress progress, Warn warn, ClipLoader load_clips = nullptr);

  // Loads and converts what is not there yet. InvalidArgument when the data
  // set has fewer items than the job asks for.
  absl::StatusOr<Input> Get(const Job& job);

 private:
  using FormKey = std::tuple<DType, Layout, int>;
  struct Loaded {
    LoadedImages images;
    std::map<FormKey, Corpus> forms;
    std::vector<ClipFile> files;
    UniqueFd list;
  };

  absl::StatusOr<Loaded*> Load(const Job& job);
  absl::StatusOr<std::unique_ptr<Loaded>> LoadItems(const LoadRequest& request,
                                                    const Job& job);
  absl::StatusOr<std::unique_ptr<Loaded>> LoadClipItems(
      const LoadRequest& request, const Job& job, const Scenario& scenario);
  void WarnOfSkipped(const std::string& dataset, const LoadedImages& images);
  absl::StatusOr<const Corpus*> Form(const CorpusForm& form, Loaded* loaded);

  const Catalogue& catalogue_;
  const std::string dataset_;
  const Progress progress_;
  const Warn warn_;
  const ClipLoader load_clips_;
  // By what decides the items, see KeyOf.
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;
};

// The frames that a clip of `job` has: `clip_rule` of its settings.
absl::StatusOr<ClipRule> ClipRuleOf(const Job& job);

// How `library` gets its input in `job`'s mode, by the policy; uint8 HWC where
// it says nothing.
absl::StatusOr<CorpusForm> FormOf(const Catalogue& catalogue, const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_INPUT_CORPORA_H_
