// The images or clips of a run, decoded once and converted to each form that a
// library wants.
#pragma once

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
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/media/load_images.h"
#include "lib/media/video/clips.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

class Catalogue;
class Scenario;

// What a program with FFmpeg can do with clips. Both are null in others.
struct ClipTools {
  ClipLoader load;
  ClipLimit limit;
};

// Not thread-safe.
class InputCorpora {
 public:
  struct Input {
    // The items in the form that the library gets.
    const Corpus* corpus = nullptr;
    // The items as they were decoded: uint8, HWC, with the channels of the
    // files. Scenarios with more channels repeat them.
    const Corpus* original = nullptr;
    Dataset dataset;
    // The files that clips come from. Null for images.
    const std::vector<ClipFile>* files = nullptr;
    // Descriptor for a worker: the corpus, or for a decoder the list of files.
    int fd = -1;
    // Number of items behind `fd`.
    int64_t size = 0;
  };
  using Progress = std::function<void(int64_t done, int64_t total)>;
  using Warn = std::function<void(const std::string&)>;

  // `dataset` is a folder or `synthetic:…`; empty means that the job's dataset
  // id is used, which must be synthetic. `load_clips` may be null when no job
  // has clips. `catalogue` outlives this.
  InputCorpora(const Catalogue& catalogue, std::string dataset,
               Progress progress, Warn warn, ClipLoader load_clips = nullptr);

  // Loads and converts items on first use. InvalidArgument when the data set
  // has fewer items than the job asks for.
  absl::StatusOr<Input> Get(const Job& job);

  // Gives a warning to the user.
  void Tell(const std::string& text) const { warn_(text); }

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
  // By the fields that select the items, see KeyOf.
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;
};

// Which frames a clip of `job` has: its setting `clip_rule`.
absl::StatusOr<ClipRule> ClipRuleOf(const Job& job);

// The form in which the policy gives the job's library its input; uint8 HWC by
// default.
absl::StatusOr<CorpusForm> FormOf(const Catalogue& catalogue, const Job& job);

}  // namespace feedrate
