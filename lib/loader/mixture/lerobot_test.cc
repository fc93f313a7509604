#include "lib/loader/mixture/lerobot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/testing.h"
#include "lib/loader/mixture/video_library.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Written by lib/adapters/python/testing/lerobot_episodes.py: `old` in format
// v2.1, `new` in v3.0. Episode e has 8 + 2e steps.
constexpr char kLerobotData[] = "lib/loader/mixture/testdata/lerobot";
constexpr int kLerobotPairs = 7 + 9 + 11;

std::string LerobotCopy() {
  const std::string folder = NewTestFolder();
  std::filesystem::copy(kLerobotData, folder,
                        std::filesystem::copy_options::recursive);
  return folder;
}

MixtureSource LerobotSource(const std::string& folder,
                            const std::string& name) {
  const auto sources = ReadMixtureFolder(folder);
  EXPECT_TRUE(sources.ok()) << sources.status();
  for (const MixtureSource& source : *sources) {
    if (source.name == name) return source;
  }
  ADD_FAILURE() << name;
  return {};
}

// All pairs of a data set, in order.
MixtureOptions InOrder(int64_t count) {
  MixtureOptions options = TestOptions(count);
  options.spec.batch_size = count;
  options.spec.shuffle_buffer = 1;
  options.spec.samples_per_episode = 0;
  options.spec.metadata = "full";
  return options;
}

struct LerobotSample {
  int episode = 0;
  int step = 0;
  std::string task;
  std::string action;
  std::string state;
  // Red, in the middle of both frames.
  int first = 0;
  int second = 0;
};

std::vector<LerobotSample> SamplesOf(const MixtureSource& source,
                                     const MixtureOptions& options) {
  const auto run = RunMixture({source}, options);
  EXPECT_TRUE(run.ok()) << run.status();
  std::vector<LerobotSample> samples;
  if (!run.ok()) return samples;
  const TestBatch& batch = run->batches[0];
  const size_t bytes = batch.frames.size() / options.count / 2;
  for (const absl::string_view line :
       absl::StrSplit(batch.metadata, '\n', absl::SkipEmpty())) {
    // Data set, episode, step, the three words of the task, action, state.
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    LerobotSample sample;
    EXPECT_TRUE(absl::SimpleAtoi(words[1], &sample.episode));
    EXPECT_TRUE(absl::SimpleAtoi(words[2], &sample.step));
    sample.task = absl::StrCat(words[3], " ", words[4], " ", words[5]);
    sample.action = words[6];
    sample.state = words[7];
    const size_t middle =
        samples.size() * 2 * bytes + 3 * (12 * options.spec.frame_width + 12);
    sample.first = static_cast<uint8_t>(batch.frames[middle]);
    sample.second = static_cast<uint8_t>(batch.frames[middle + bytes]);
    samples.push_back(sample);
  }
  return samples;
}

void ExpectSample(const LerobotSample& sample, int episode, int step) {
  SCOPED_TRACE(absl::StrCat("episode ", episode, " step ", step));
  const auto red = [&](int at) { return (40 * at + 90 * episode) % 256; };
  EXPECT_EQ(sample.episode, episode);
  EXPECT_EQ(sample.step, step);
  EXPECT_EQ(sample.task, absl::StrCat("do thing ", episode % 2));
  const double base = 100 * episode + step;
  EXPECT_EQ(sample.action,
            absl::StrCat(base, ",", base + 0.25, ",", base + 0.5));
  EXPECT_EQ(sample.state, absl::StrCat(-1.0 * step, ",", -step - 1));
  EXPECT_NEAR(sample.first, red(step), 12);
  EXPECT_NEAR(sample.second, red(step + 1), 12);
}

TEST(LerobotTest, BothFormatsHaveTheSamplesThatLerobotWrote) {
  for (const char* const format : {"old", "new"}) {
    SCOPED_TRACE(format);
    const MixtureSource source = LerobotSource(kLerobotData, format);
    EXPECT_EQ(source.image, "observation.images.top");
    EXPECT_THAT(source.action, ElementsAre("action"));
    EXPECT_THAT(source.state, ElementsAre("observation.state"));
    const auto samples = SamplesOf(source, InOrder(kLerobotPairs));
    ASSERT_EQ(samples.size(), kLerobotPairs);
    size_t at = 0;
    for (int episode = 0; episode < 3; ++episode) {
      for (int step = 0; step < 7 + 2 * episode; ++step) {
        ExpectSample(samples[at++], episode, step);
      }
    }
  }
}

TEST(LerobotTest, ManyThreadsDrawTheSame) {
  const auto sources = ReadMixtureFolder(kLerobotData);
  ASSERT_TRUE(sources.ok()) << sources.status();
  MixtureOptions options = TestOptions(64);
  options.spec.decode_parallelism = 1;
  const auto one = RunMixture(*sources, options);
  options.spec.decode_parallelism = 4;
  const auto four = RunMixture(*sources, options);
  ASSERT_TRUE(one.ok() && four.ok()) << one.status() << four.status();
  EXPECT_TRUE(one->batches == four->batches);
}

TEST(LerobotTest, AChunkOfActionsRepeatsTheLast) {
  MixtureSource source = LerobotSource(kLerobotData, "new");
  source.state.clear();
  MixtureOptions options = InOrder(7);
  options.spec.action_chunk = 3;
  MixtureMemory memory;
  ASSERT_TRUE(memory.Reserve(options.spec).ok());
  const auto loader = MixtureLoader::Start({source}, options, &memory);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  const SampleMetadata& first = (*batch)->metadata[0];
  EXPECT_THAT(first.action,
              ElementsAre(0, .25, .5, 1, 1.25, 1.5, 2, 2.25, 2.5));
  EXPECT_EQ(first.action_padded, 0);
  // Steps 6, 7, and 7 again.
  const SampleMetadata& last = (*batch)->metadata[6];
  EXPECT_THAT(last.action,
              ElementsAre(6, 6.25, 6.5, 7, 7.25, 7.5, 7, 7.25, 7.5));
  EXPECT_EQ(last.action_padded, 1);
}

TEST(LerobotTest, ACameraCanBeNamed) {
  const std::string folder = LerobotCopy();
  ASSERT_TRUE(WriteFileAtomically(
                  JoinPath(folder, kMixtureFileName),
                  "weights { dataset: \"new\" weight: 1 features { image: "
                  "\"observation.wrist\" } }")
                  .ok());
  const MixtureSource source = LerobotSource(folder, "new");
  EXPECT_EQ(source.image, "observation.wrist");
  const auto samples = SamplesOf(source, InOrder(3));
  ASSERT_EQ(samples.size(), 3);
  EXPECT_NEAR(samples[2].first, 80, 12);
}

TEST(LerobotTest, AnEpisodeWithoutItsFilesIsSkippedAndNamed) {
  const std::string folder = LerobotCopy();
  const std::string video =
      folder + "/old/videos/chunk-000/observation.images.top/";
  const std::string data =
      folder + "/old/data/chunk-000/episode_000001.parquet";
  std::filesystem::remove(video + "episode_000000.mp4");
  std::filesystem::resize_file(data, 1000);
  const MixtureSource source = LerobotSource(folder, "old");
  MixtureOptions options = InOrder(11);
  options.spec.on_error = "skip";
  const auto run = RunMixture({source}, options);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_GE(run->fault_reasons.size(), 2);
  EXPECT_THAT(run->fault_reasons[0],
              HasSubstr("episode_000000.mp4: there is no such file"));
  EXPECT_THAT(run->fault_reasons[1],
              HasSubstr(data + ": is no Parquet file, or cut off"));
  options.spec.on_error = "fail";
  EXPECT_THAT(RunMixture({source}, options).status().message(),
              HasSubstr("episode_000000.mp4: there is no such file"));
}

// An instruction that is not there must not become an empty one.
TEST(LerobotTest, ATaskThatIsNotListedIsNamed) {
  const std::string folder = LerobotCopy();
  const std::string tasks = folder + "/old/meta/tasks.jsonl";
  const auto error = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(tasks, text).ok());
    const auto run =
        RunMixture({LerobotSource(folder, "old")}, InOrder(kLerobotPairs));
    return std::string(run.status().message());
  };
  EXPECT_THAT(error("{\"task_index\": 0, \"task\": \"do thing 0\"}\n"),
              HasSubstr("the list of tasks has no task 1"));
  EXPECT_THAT(error(""), HasSubstr("the list of tasks has no task 0; copy "));
  EXPECT_THAT(error("{\"task_index\": \"0\", \"task\": \"do thing 0\"}\n"),
              HasSubstr(tasks + ": a task has no number \"task_index\""));
}

TEST(LerobotTest, ASizeOfChunksThatIsNoneIsRefused) {
  const std::string folder = LerobotCopy();
  const std::string info = folder + "/old/meta/info.json";
  const std::string text = *ReadFile(info);
  for (const char* size : {"0", "-1", "\"7\"", "7.5", "null"}) {
    ASSERT_TRUE(
        WriteFileAtomically(
            info, absl::StrReplaceAll(
                      text, {{"\"chunks_size\": 1000",
                              absl::StrCat("\"chunks_size\": ", size)}}))
            .ok());
    EXPECT_THAT(ReadMixtureFolder(folder).status().message(),
                HasSubstr(info + ": \"chunks_size\" is not a whole number"))
        << size;
  }
}

TEST(LerobotTest, ADamagedVideoIsNamed) {
  const std::string folder = LerobotCopy();
  const std::string video =
      folder + "/new/videos/observation.images.top/chunk-000/file-000.mp4";
  ASSERT_TRUE(WriteFileAtomically(video, "no video").ok());
  const MixtureSource source = LerobotSource(folder, "new");
  EXPECT_THAT(RunMixture({source}, InOrder(4)).status().message(),
              HasSubstr(video + ": no video"));
}

TEST(LerobotTest, ALibraryOfAnotherUserIsNotLoaded) {
  struct stat program = {}, library = {};
  program.st_uid = library.st_uid = geteuid() + 1;
  EXPECT_TRUE(CheckLibrary(program, "/tmp/lib/x.so", library).ok());
  library.st_uid = geteuid() + 2;
  EXPECT_THAT(CheckLibrary(program, "/tmp/lib/x.so", library).message(),
              HasSubstr("belongs to another user"));
  library.st_uid = geteuid();
  EXPECT_TRUE(CheckLibrary(program, "/tmp/lib/x.so", library).ok());
}

TEST(LerobotTest, AnOldFormatSaysWhatToDo) {
  const std::string folder = NewTestFolder();
  std::filesystem::create_directories(folder + "/a/meta");
  const std::string info = folder + "/a/meta/info.json";
  ASSERT_TRUE(WriteFileAtomically(
                  info, "{\"codebase_version\": \"v1.6\", \"features\": {}}")
                  .ok());
  EXPECT_EQ(ReadMixtureFolder(folder).status().message(),
            absl::StrCat(info,
                         ": has the format \"v1.6\"; convert it to v2.1 "
                         "or v3.0 with lerobot"));
  ASSERT_TRUE(WriteFileAtomically(info, "[]").ok());
  EXPECT_THAT(ReadMixtureFolder(folder).status().message(),
              HasSubstr("is not LeRobot's description"));
}

TEST(LerobotTest, PathsHaveNumbersAndNames) {
  const std::vector<LerobotPathPart> parts = {{"video_key", 0, "a.b"},
                                              {"file_index", 7, ""}};
  EXPECT_EQ(LerobotPath("v/{video_key}/f-{file_index:03d}.mp4", parts).value(),
            "v/a.b/f-007.mp4");
  EXPECT_EQ(LerobotPath("{file_index}", parts).value(), "7");
  EXPECT_EQ(LerobotPath("", parts).value(), "");
  EXPECT_FALSE(LerobotPath("{other}", parts).ok());
  EXPECT_FALSE(LerobotPath("a{file_index", parts).ok());
}

}  // namespace
}  // namespace feedrate
