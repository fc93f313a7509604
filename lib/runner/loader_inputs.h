// What the loaders of a run read: decoded items in memory, files, or shards.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_INPUTS_H_
#define FEEDRATE_LIB_RUNNER_LOADER_INPUTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/reference/pixels.h"
#include "lib/runner/file_sets.h"
#include "lib/runner/input_corpora.h"

namespace feedrate {

// Not thread-safe.
class LoaderInputs {
 public:
  struct Input {
    // To hand to a worker. Owned by this class.
    int fd = -1;
    // `corpus`, `files` or `shards`.
    std::string source;
    // That an epoch goes through.
    int64_t items = 0;
    Dataset dataset;
    // Of `corpus`, and of clips.
    InputCorpora::Input decoded;
    // Of the others: what is read, as it was before it was put into shards.
    const FileSet* files = nullptr;
    // And the files that are opened.
    const std::vector<std::string>* paths = nullptr;
  };

  // `dataset` as in InputCorpora. All outlive this.
  LoaderInputs(const Catalogue& catalogue, std::string dataset,
               InputCorpora* corpora, FileProgress progress);

  // Loads, lists or writes what is not there yet. Files are in the page cache
  // once. InvalidArgument when there are fewer than the job asks for.
  absl::StatusOr<Input> Get(const Job& job);

 private:
  struct Loaded {
    FileSet files;
    FileSet opened;
    std::vector<std::string> paths;
    UniqueFd list;
    Dataset dataset;
  };

  absl::StatusOr<FileSet> Files(const Job& job) const;
  absl::StatusOr<Input> GetClips(const Job& job);
  absl::StatusOr<const Loaded*> Load(const Job& job);

  const Catalogue& catalogue_;
  const std::string dataset_;
  InputCorpora* const corpora_;
  const FileProgress progress_;
  // By data set, number of items, and whether they are in shards.
  std::map<std::tuple<std::string, int64_t, bool>, std::unique_ptr<Loaded>>
      loaded_;
  // By the list of files that a run has of its clips.
  std::map<const void*, std::vector<std::string>> clip_paths_;
};

// Frame `frame` of item `i` of the input, 0 of an image, decoded, with
// `channels` channels. Unimplemented where it is no image.
absl::StatusOr<Pixels> DecodedItem(const LoaderInputs::Input& input, int64_t i,
                                   int frame, int channels);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_INPUTS_H_
