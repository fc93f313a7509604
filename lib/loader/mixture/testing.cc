#include "lib/loader/mixture/testing.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

std::string TestEpisode(int frames, int number, int height, int width) {
  std::vector<std::string> jpegs;
  std::vector<float> action;
  std::vector<float> state;
  for (int i = 0; i < frames; ++i) {
    jpegs.push_back(TestJpeg(height, width, number + i));
    for (int j = 0; j < 3; ++j) action.push_back(number + i + 0.25f * j);
    for (int j = 0; j < 2; ++j) state.push_back(-number - i - 0.5f * j);
  }
  ExampleBuilder builder;
  builder.AddBytes("frames", {jpegs.begin(), jpegs.end()});
  builder.AddFloats("action", action);
  builder.AddFloats("state", state);
  const std::string instruction = absl::StrCat("do thing ", number);
  const std::string id = absl::StrCat("episode-", number);
  builder.AddBytes("instruction", {instruction});
  builder.AddBytes("episode_id", {id});
  return builder.Serialized();
}

MixtureSource TestDataset(const std::string& name, double weight,
                          const std::vector<std::vector<std::string>>& shards) {
  MixtureSource source;
  source.name = name;
  source.weight = weight;
  const std::string folder = NewTestFolder();
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string bytes;
    for (const std::string& episode : shards[i]) {
      AppendTfRecord(episode, &bytes);
    }
    source.shards.push_back(
        WriteTestFile(folder, absl::StrCat(i, ".tfrecord"), bytes));
  }
  return source;
}

std::vector<MixtureSource> TestMixture() {
  return {
      TestDataset("a", 5,
                  {{TestEpisode(6, 0), TestEpisode(9, 10)},
                   {TestEpisode(7, 20), TestEpisode(8, 30)}}),
      TestDataset("b", 3,
                  {{TestEpisode(12, 100, 40, 20), TestEpisode(6, 120, 40, 20)},
                   {TestEpisode(8, 140, 40, 20)},
                   {TestEpisode(7, 160, 40, 20)}}),
      TestDataset("c", 1, {{TestEpisode(20, 200, 16, 64)}}),
  };
}

MixtureOptions TestOptions(int64_t count) {
  MixtureOptions options;
  options.count = count;
  options.seed = 7;
  options.spec.batch_size = 8;
  options.spec.frame_height = 24;
  options.spec.frame_width = 24;
  return options;
}

absl::StatusOr<TestRun> RunMixture(const std::vector<MixtureSource>& sources,
                                   const MixtureOptions& options) {
  MixtureMemory memory;
  RETURN_IF_ERROR(memory.Reserve(options.spec));
  ASSIGN_OR_RETURN(const std::unique_ptr<MixtureLoader> loader,
                   MixtureLoader::Start(sources, options, &memory));
  TestRun run;
  for (;;) {
    ASSIGN_OR_RETURN(const MixtureBatch* const batch, loader->Next());
    if (batch == nullptr) break;
    TestBatch& copy = run.batches.emplace_back();
    copy.datasets = *batch->datasets;
    copy.frames.assign(reinterpret_cast<const char*>(batch->frames),
                       batch->bytes());
    for (int i = 0; batch->metadata != nullptr && i < batch->size; ++i) {
      const SampleMetadata& m = batch->metadata[i];
      absl::StrAppend(&copy.metadata, m.dataset, " ", m.episode_id, " ", m.step,
                      " ", m.instruction, " ", absl::StrJoin(m.action, ","),
                      " ", absl::StrJoin(m.state, ","), "\n");
    }
  }
  loader->Stop();
  run.faults = loader->faults().total();
  for (const ItemFault& fault : loader->faults().all()) {
    run.fault_reasons.push_back(absl::StrCat(fault.name, ": ", fault.reason));
  }
  run.left_out = loader->left_out();
  return run;
}

}  // namespace feedrate
