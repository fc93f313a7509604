// What the loaders of a run read: decoded items in memory, files, shards, or
// objects of a store.
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
#include "lib/runner/remote_data.h"

namespace feedrate {

// Not thread-safe.
class LoaderInputs {
 public:
  struct Input {
    // To hand to a worker. Owned by this class.
    int fd = -1;
    // `corpus`, `files`, `shards` or `objects`.
    std::string source;
    // That an epoch goes through.
    int64_t items = 0;
    Dataset dataset;
    // Of `corpus`, and of clips.
    InputCorpora::Input decoded;
    // Of the others: what is read, as it was before it was put into shards.
    const FileSet* files = nullptr;
    // And the files that are opened. Null for objects.
    const std::vector<std::string>* paths = nullptr;
    // Of objects: the store.
    RemoteData* remote = nullptr;
  };

  // `dataset` as in InputCorpora. `remote` may be null: there is no store. All
  // outlive this.
  LoaderInputs(const Catalogue& catalogue, std::string dataset,
               RemoteData* remote, InputCorpora* corpora,
               FileProgress progress);

  // Loads, lists or writes what is not there yet. Files are in the page cache
  // once. InvalidArgument when there are fewer than the job asks for.
  absl::StatusOr<Input> Get(const Job& job);

 private:
  enum class Kind { kFiles, kShards, kObjects };
  struct Loaded {
    FileSet files;
    FileSet opened;
    std::vector<std::string> paths;
    UniqueFd list;
    Dataset dataset;
  };

  Kind KindOf(const Job& job) const;
  absl::StatusOr<FileSet> Files(const Job& job, Kind kind) const;
  absl::StatusOr<Input> GetClips(const Job& job);
  absl::StatusOr<const Loaded*> Load(const Job& job);

  const Catalogue& catalogue_;
  const std::string dataset_;
  RemoteData* const remote_;
  InputCorpora* const corpora_;
  const FileProgress progress_;
  // By data set, number of items, and where they are.
  std::map<std::tuple<std::string, int64_t, Kind>, std::unique_ptr<Loaded>>
      loaded_;
  // By the list of files that a run has of its clips.
  std::map<const void*, std::vector<std::string>> clip_paths_;
};

// Whether the job can only be run when its data is on this machine: all but
// those of our own loader, and of the one that reads nothing.
bool NeedsLocalData(const Job& job);

// The endings of files that are items of the job, without dots.
std::vector<std::string> ItemEndings(const Catalogue& catalogue,
                                     const Job& job);

// The bytes of item `i`. REQUIRES: input.files is set.
absl::StatusOr<std::string> ItemBytes(const LoaderInputs::Input& input,
                                      int64_t i);

// Frame `frame` of item `i` of the input, 0 of an image, decoded, with
// `channels` channels. Unimplemented where it is no image.
absl::StatusOr<Pixels> DecodedItem(const LoaderInputs::Input& input, int64_t i,
                                   int frame, int channels);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_INPUTS_H_
