// What a loader job says and reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/reference/pixels.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/runner/data/remote_data.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/worker/message.h"

namespace feedrate {

class Catalogue;
class MeasuredChild;
class PrepareReply;
struct RunContext;

// The recipe and loader of `job`, from the policy and the job's settings. The
// caller sets what the run decides: `source`, `on_error`, `ablation`.
// InvalidArgument names an impossible setting.
absl::StatusOr<LoaderSpec> LoaderSpecOfJob(const Catalogue& catalogue,
                                           const Job& job);

// How often an epoch is repeated.
struct EpochPolicy {
  double min_time_s = 0;
  int64_t min_batches = 1;
  // Share of the items in an epoch.
  double sample_ratio = 1;
};
absl::StatusOr<EpochPolicy> EpochPolicyOfJob(const Job& job);

// What the loaders of a run read: decoded items in memory, files, shards, or
// objects of a store. Not thread-safe.

class LoaderInputs {
 public:
  struct Input {
    // Descriptor for a worker. Owned by this class.
    int fd = -1;
    // `corpus`, `files`, `shards`, `tfrecord`, `parquet`, `lmdb` or
    // `objects`.
    std::string source;
    // Number of items per epoch.
    int64_t items = 0;
    Dataset dataset;
    // Set for `corpus`, and for clips.
    InputCorpora::Input decoded;
    // Set for the other sources: what is read, before it was put into shards or
    // another container.
    const FileSet* files = nullptr;
    // The files that are opened. Null for objects and files of a web server.
    const std::vector<std::string>* paths = nullptr;
    // The store, for objects.
    RemoteData* remote = nullptr;
    // The folder of the data set, for files.
    std::string folder;
  };

  // `dataset` is as in InputCorpora. A null `remote` means that there is no
  // store. `open_remote` is for the container `http`. All outlive this.
  LoaderInputs(const Catalogue& catalogue, std::string dataset,
               RemoteData* remote, const OpenRemoteData& open_remote,
               InputCorpora* corpora, FileProgress progress);

  // Loads, lists or writes the input on first use, and reads files into the
  // page cache. InvalidArgument when there are fewer items than the job asks
  // for.
  absl::StatusOr<Input> Get(const Job& job);

 private:
  struct Loaded {
    FileSet files;
    FileSet opened;
    std::vector<std::string> paths;
    UniqueFd list;
    Dataset dataset;
    // The store, for objects.
    RemoteData* remote = nullptr;
    std::unique_ptr<RemoteData> own_remote;
  };

  // The job's container, or what its library reads: `files`, `shards` or
  // `objects`.
  std::string KindOf(const Job& job) const;
  absl::StatusOr<FileSet> Files(const Job& job, const std::string& kind) const;
  // Puts the files of `loaded` behind a web server of this process: as shards,
  // or as objects for a library that reads these.
  absl::Status Serve(const Job& job, Loaded* loaded);
  absl::StatusOr<Input> GetClips(const Job& job);
  // The folder of the data set that has these files.
  std::string FolderOf(const std::vector<std::string>& paths) const;
  absl::StatusOr<const Loaded*> Load(const Job& job);

  const Catalogue& catalogue_;
  const std::string dataset_;
  RemoteData* const remote_;
  const OpenRemoteData& open_remote_;
  InputCorpora* const corpora_;
  const FileProgress progress_;
  // Keyed by data set, number of items, and kind.
  std::map<std::tuple<std::string, int64_t, std::string>,
           std::unique_ptr<Loaded>>
      loaded_;
  // By folder.
  std::map<std::string, std::unique_ptr<TinyServer>> servers_;
  // Keyed by the run's list of files with clips.
  std::map<const void*, std::vector<std::string>> clip_paths_;
};

// LoaderSpecOfJob for a job that reads `input`: with its source, and where a
// subject finds it.
absl::StatusOr<LoaderSpec> LoaderSpecOfInput(const Catalogue& catalogue,
                                             const Job& job,
                                             const LoaderInputs::Input& input);

// The bytes of item `i`. REQUIRES: input.files is set.
absl::StatusOr<std::string> ItemBytes(const LoaderInputs::Input& input,
                                      int64_t i);

// Frame `frame` (0 for images) of item `i` of the input, decoded, with
// `channels` channels. InvalidArgument with its file when that is unusable.
absl::StatusOr<Pixels> DecodedItem(const LoaderInputs::Input& input, int64_t i,
                                   int frame, int channels);

// Hash of the contents of the first `count` items.
absl::StatusOr<std::string> HashOfFirst(const LoaderInputs::Input& input,
                                        int64_t count);

// A process that is ready to run epochs of `spec` for `job`. `fd` is its input.
absl::StatusOr<std::unique_ptr<MeasuredChild>> SpawnLoader(
    const RunContext& context, const Job& job, const LoaderSpec& spec, int fd,
    PrepareReply* reply);

}  // namespace feedrate
