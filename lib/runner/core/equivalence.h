// Compares the outputs of a library with the reference of the transform, and
// remembers the results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {

class Catalogue;
class Implementation;
class Transform;

// Known results of comparisons: a file of lines, each with a key and an
// `equivalence` record. Several programs may append to it at once; lines that
// do not parse are skipped. A file that cannot be read or written costs time
// and does not fail the run. Not thread-safe.
class EquivalenceCache {
 public:
  // Reads `path`, which need not exist.
  explicit EquivalenceCache(const std::string& path);

  // Null when the key is unknown.
  const Equivalence* Find(const std::string& key) const;
  void Add(const std::string& key, const Equivalence& equivalence);

 private:
  const std::string path_;
  std::map<std::string, Equivalence> known_;
};

// The items whose outputs are compared.
struct ComparedItems {
  int64_t count = 0;
  // Hash of the data.
  std::string sha256;
  // Frame `frame` of item `i` as it was decoded. Images have only frame 0.
  // InvalidArgument when its file is unusable.
  std::function<absl::StatusOr<Pixels>(int64_t i, int frame)> item;
  // The file of item `i`, for messages. Null when items are not files.
  std::function<std::string(int64_t i)> name;
  // Called with the reason for each item that is unusable; the next one takes
  // its place. Null means that such an item is an error.
  std::function<void(const std::string& reason)> skip;
  // What the loader does besides the transform. Null means nothing.
  const LoaderSpec* recipe = nullptr;
};

// Compares the outputs of a library with the reference, once per library
// version, parameters, reference and data. Not thread-safe.
class EquivalenceCheck {
 public:
  // What the outputs of a subject's job are compared with.
  struct Rival {
    // A library or another subject.
    std::string name;
    // Null when it does not have the transform.
    MeasuredChild* child = nullptr;
  };

  // `catalogue` outlives this. `reference` is the config's.
  EquivalenceCheck(const Catalogue& catalogue, const std::string& cache_path,
                   const std::string& reference = "")
      : catalogue_(catalogue), cache_(cache_path), reference_(reference) {}

  // Asks `child`, which has prepared the job's transform, for its outputs for
  // the first items, and compares them. Fails as the child does, with the name
  // of the item. An output that cannot be compared counts as `different`, with
  // the reason. `unchecked` when all items were skipped.
  absl::StatusOr<Equivalence> Check(const Job& job, const std::string& version,
                                    const ComparedItems& items,
                                    absl::Duration limit, MeasuredChild* child);

  // The job whose outputs a subject's job is compared with. Absent when that is
  // the reference of its transform, and for other libraries.
  std::optional<Job> ReferenceJob(const Job& job) const;
  // Compares the outputs of a subject with those of `rival`. Fails as Check
  // does.
  absl::StatusOr<Equivalence> CheckAgainst(const Rival& rival, const Job& job,
                                           const ComparedItems& items,
                                           absl::Duration limit,
                                           MeasuredChild* child);

 private:
  // The output for an item.
  struct ItemOutput {
    int64_t item = 0;
    ChildOutput output;
  };

  // Outputs for the first `count` items that are usable.
  static absl::StatusOr<std::vector<ItemOutput>> GetOutputs(
      const ComparedItems& items, int64_t count, uint64_t seed,
      absl::Duration limit, MeasuredChild* child);
  // What is known of outputs for the first items without a reference for them.
  // Fails as Check does, and if they are not images.
  absl::StatusOr<Equivalence> CheckImages(const std::string& unchecked,
                                          const Job& job,
                                          const ComparedItems& items,
                                          absl::Duration limit,
                                          MeasuredChild* child);
  absl::StatusOr<Equivalence> Compare(const Transform& transform,
                                      const Implementation& implementation,
                                      const ComparedItems& items,
                                      const std::vector<ItemOutput>& outputs);

  const Catalogue& catalogue_;
  EquivalenceCache cache_;
  const std::string reference_;
};

// The record of a comparison.
Equivalence RecordOf(const Comparison& comparison);

// The file with known results, in the user's cache folder. Empty without one:
// then nothing is kept.
std::string EquivalenceCachePath();

// Frame `frame` of an item, or the item itself when it is an image. REQUIRES:
// uint8, HWC, and the frame exists.
ImageView FrameOfItem(const Corpus& corpus, int64_t item, int frame);
// The same with its channels repeated until there are `channels`.
Pixels PixelsOfItem(const Corpus& corpus, int64_t item, int frame,
                    int channels);

// The number of frames in an output: 1 for an image.
int FramesOfOutput(const ChildOutput& output);
// A view of one frame of an output.
OutputView FrameOfOutput(const ChildOutput& output, int frame);

}  // namespace feedrate
