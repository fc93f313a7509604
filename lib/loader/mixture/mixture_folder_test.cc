#include "lib/loader/mixture/mixture_folder.h"

#include <sys/stat.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/hash/sha256.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image_file.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// As in octo's oxe_dataset_mixes.py and in openvla's mixtures.py.
constexpr char kMixes[] = R"(
BRIDGE_MIX = [
    ("bridge_dataset", 1.0),
]
OXE_MAGIC_SOUP = [
    ("fractal20220817_data", 0.54087122203),
    ("kuka", 0.8341046294),  # comment, ("no", 1)
    # ("left_out", 2.0),
    ('bridge_dataset', 1e0)
]
NAMED = {"rtx": [("kuka", 2)]}
)";

std::string Listed(absl::string_view text, absl::string_view name) {
  const auto entries = ParseMixtureList(text, name);
  if (!entries.ok()) return std::string(entries.status().message());
  std::string all;
  for (const DatasetEntry& entry : *entries) {
    absl::StrAppend(&all, entry.name, "=", entry.weight, " ");
  }
  return all;
}

TEST(MixtureListTest, ListsOfPython) {
  EXPECT_EQ(Listed(kMixes, ""), "bridge_dataset=1 ");
  EXPECT_EQ(Listed(kMixes, "OXE_MAGIC_SOUP"),
            "fractal20220817_data=0.540871 kuka=0.834105 bridge_dataset=1 ");
  EXPECT_EQ(Listed(kMixes, "rtx"), "kuka=2 ");
}

TEST(MixtureListTest, ListsOfJson) {
  EXPECT_EQ(Listed("[[\"a\", 1], [\"b\", 0.5]]", ""), "a=1 b=0.5 ");
  EXPECT_EQ(Listed("{\"mix\": [[\"a\", 1]]}", "mix"), "a=1 ");
}

TEST(MixtureListTest, ErrorsNameTheLine) {
  EXPECT_EQ(Listed(kMixes, "NOSUCH"), "has no list \"NOSUCH\"");
  EXPECT_THAT(Listed("", ""), HasSubstr("has no list of pairs"));
  EXPECT_THAT(Listed("[\n(\"a\", x)]", ""),
              HasSubstr("line 2: \"x\" is not a weight"));
  EXPECT_THAT(Listed("[(\"a\", -1)]", ""), HasSubstr("\"-1\" is not a weight"));
  EXPECT_THAT(Listed("[(a, 1)]", ""), HasSubstr("\"a\" is not a name"));
  EXPECT_THAT(Listed("[(\"a\", 1), (\"a\", 2)]", ""),
              HasSubstr("listed twice"));
  EXPECT_THAT(Listed("[(\"a\", 1)", ""), HasSubstr("has no end"));
  EXPECT_THAT(Listed("[(\"a\"", ""), HasSubstr("a whole pair"));
  EXPECT_THAT(Listed("[(\"a", ""), HasSubstr("line 1: a text has no end"));
  EXPECT_THAT(Listed("[]", ""), HasSubstr("is empty"));
}

std::string Message(const std::string& folder) {
  return std::string(ReadMixtureFolder(folder).status().message());
}

TEST(MixtureFolderTest, FoldersAreDataSets) {
  const std::string folder = NewTestFolder();
  for (const char* name : {"b", "a", "empty"}) {
    ASSERT_TRUE(MakeFolder(JoinPath(folder, name)).ok());
  }
  WriteTestFile(folder, "a/2.tfrecord", "");
  WriteTestFile(folder, "a/1.tfrecord-00000-of-00001", "");
  WriteTestFile(folder, "a/readme.txt", "");
  WriteTestFile(folder, "b/1.tfrecord", "");
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(*sources, SizeIs(2));
  EXPECT_EQ((*sources)[0].name, "a");
  EXPECT_EQ((*sources)[0].weight, 1);
  ASSERT_THAT((*sources)[0].shards, SizeIs(2));
  EXPECT_THAT((*sources)[0].shards[0], HasSubstr("/a/1.tfrecord-00000"));
}

TEST(MixtureFolderTest, OnlyPlainFilesAreShards) {
  const std::string folder = NewTestFolder();
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "a")).ok());
  const std::string pipe = JoinPath(folder, "a/1.tfrecord");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Message(folder), HasSubstr("a/1.tfrecord: is a named pipe"));
}

TEST(MixtureFolderTest, TheFileSaysOrderAndWeights) {
  const std::string folder = NewTestFolder();
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(MakeFolder(JoinPath(folder, name)).ok());
  }
  ASSERT_TRUE(WriteMixtureFile(folder, {{"b", 0.125}, {"a", 3}}).ok());
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ((*sources)[0].name, "b");
  EXPECT_EQ((*sources)[0].weight, 0.125);
  EXPECT_THAT((*sources)[0].shards, SizeIs(0)) << "the mixture decides";
}

TEST(MixtureFolderTest, SaysWhatIsMissing) {
  EXPECT_THAT(Message("/no/such/folder"), HasSubstr("no such folder"));
  const std::string folder = NewTestFolder();
  EXPECT_THAT(Message(folder),
              AllOf(HasSubstr("no data set"), HasSubstr("mixture.textproto")));
  ASSERT_TRUE(WriteMixtureFile(folder, {{"gone", 1}}).ok());
  EXPECT_THAT(Message(folder), HasSubstr("data set \"gone\""));
  WriteTestFile(folder, kMixtureFileName, "weights { dataset: \"a\" }");
  EXPECT_THAT(Message(folder), HasSubstr("lacks its dataset or its weight"));
  WriteTestFile(folder, kMixtureFileName, "weight { }");
  EXPECT_THAT(Message(folder), HasSubstr("mixture.textproto:1"));
}

std::string Error(const std::string& dataset) {
  return std::string(ParseSyntheticEpisodes(dataset).status().message());
}

TEST(SyntheticEpisodesTest, ReadsParameters) {
  EXPECT_TRUE(IsSyntheticEpisodes("synthetic:episodes"));
  EXPECT_TRUE(IsSyntheticEpisodes("synthetic:episodes,seed=3"));
  EXPECT_FALSE(IsSyntheticEpisodes("synthetic:rgb"));
  EXPECT_FALSE(IsSyntheticEpisodes("synthetic:episodes2"));
  EXPECT_EQ(ParseSyntheticEpisodes("synthetic:episodes")->datasets, 29);
  const auto spec =
      ParseSyntheticEpisodes("synthetic:episodes,scale=20,datasets=3,seed=9");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->datasets, 3);
  EXPECT_EQ(spec->scale, 20);
  EXPECT_EQ(spec->seed, 9);
  EXPECT_THAT(Error("synthetic:episodes,datasets=0"),
              HasSubstr("from 1 to 1000"));
  EXPECT_THAT(Error("synthetic:episodes,n=4"), HasSubstr("\"n\" is unknown"));
  EXPECT_THAT(Error("synthetic:episodes,seed=x"), HasSubstr("whole number"));
}

TEST(SyntheticEpisodesTest, DataSetsAreUnlike) {
  const SyntheticEpisodesSpec spec;
  std::set<std::pair<int, int>> sizes;
  std::set<double> weights;
  for (int i = 0; i < spec.datasets; ++i) {
    const SyntheticDataset dataset = SyntheticDatasetOf(spec, i);
    sizes.insert({dataset.height, dataset.width});
    weights.insert(dataset.weight);
    EXPECT_GE(dataset.episodes, 6);
    EXPECT_LE(dataset.episodes, 18);
  }
  EXPECT_GT(sizes.size(), 5);
  EXPECT_GT(weights.size(), 6);
  EXPECT_GT(*weights.rbegin(), 50 * *weights.begin());
}

TEST(SyntheticEpisodesTest, AnEpisodeHasEveryFeature) {
  SyntheticEpisodesSpec spec;
  spec.scale = 20;
  spec.frames = 6;
  const SyntheticDataset dataset = SyntheticDatasetOf(spec, 2);
  const std::string bytes = SyntheticEpisode(dataset, 1);
  ExampleView example;
  ASSERT_TRUE(example.Parse(bytes).ok());
  std::vector<absl::string_view> frames;
  ASSERT_TRUE(example.Bytes("frames", &frames).ok());
  ASSERT_GE(frames.size(), 2);
  EXPECT_EQ(ReadJpegHeader(frames[0])->height, dataset.height);
  EXPECT_EQ(ReadJpegHeader(frames[1])->width, dataset.width);
  EXPECT_NE(frames[0], frames[1]) << "something moves";
  std::vector<float> numbers;
  ASSERT_TRUE(example.Floats("action", &numbers).ok());
  EXPECT_EQ(numbers.size(), frames.size() * dataset.action_width);
  ASSERT_TRUE(example.Floats("state", &numbers).ok());
  EXPECT_EQ(numbers.size(), frames.size() * dataset.state_width);
  std::vector<absl::string_view> text;
  ASSERT_TRUE(example.Bytes("episode_id", &text).ok());
  EXPECT_THAT(text, SizeIs(1));
  EXPECT_EQ(text[0], "robot_02-000001");
  ASSERT_TRUE(example.Bytes("instruction", &text).ok());
  EXPECT_THAT(text, SizeIs(1));
}

// Pins the bytes: different bytes are a different data set and need a different
// name.
TEST(SyntheticEpisodesTest, TheSameBytesEverywhere) {
  SyntheticEpisodesSpec spec;
  spec.scale = 20;
  spec.frames = 6;
  const SyntheticDataset dataset = SyntheticDatasetOf(spec, 0);
  EXPECT_EQ(Sha256Hex(SyntheticEpisode(dataset, 0)).substr(0, 16),
            "75127aa822850025");
}

TEST(SyntheticEpisodesTest, WritesWhatIsMissing) {
  SyntheticEpisodesSpec spec;
  spec.datasets = 3;
  spec.episodes = 4;
  spec.frames = 4;
  spec.scale = 15;
  spec.shards = 2;
  const std::string folder = NewTestFolder();
  int64_t last = 0;
  ASSERT_TRUE(
      WriteSyntheticEpisodes(spec, folder, [&](int64_t done, int64_t total) {
        last = total - done;
      }).ok());
  EXPECT_EQ(last, 0);
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(*sources, SizeIs(3));
  int64_t episodes = 0;
  for (const std::string& path : (*sources)[1].shards) {
    const std::string bytes = ReadFile(path).value();
    TfRecordCursor cursor(path, bytes);
    while (cursor.Next().value().has_value()) ++episodes;
  }
  const SyntheticDataset dataset = SyntheticDatasetOf(spec, 1);
  EXPECT_EQ(episodes, dataset.episodes);
  EXPECT_EQ((*sources)[1].weight, dataset.weight);
  // Existing files stay unchanged.
  const std::string& kept = (*sources)[0].shards[0];
  WriteTestFile(folder, "robot_00/" + BaseName(kept), "mine");
  ASSERT_TRUE(WriteSyntheticEpisodes(spec, folder, nullptr).ok());
  EXPECT_EQ(ReadFile(kept).value(), "mine");
}

// As tensorflow-datasets 4.9 writes it, less what nobody reads here.
std::string FeaturesJson(const std::string& camera, bool all = true) {
  const std::string text = R"({"text": {}})";
  const std::string floats =
      R"({"tensor": {"dtype": "float32", "encoding": "none"}})";
  return absl::StrCat(
      R"({"featuresDict": {"features": {"steps": {"sequence": {"feature": )",
      R"({"featuresDict": {"features": {"observation": {"featuresDict": )",
      R"({"features": {"depth": {"tensor": {"dtype": "float32", )",
      R"("encoding": "zlib"}}, ")", camera,
      R"(": {"image": {"encodingFormat": "png"}})",
      all ? absl::StrCat(R"(, "state": )", floats) : "", "}}}",
      all ? absl::StrCat(R"(, "language_instruction": )", text,
                         R"(, "action": )", floats)
          : absl::StrCat(R"(, "action": {"featuresDict": {"features": )",
                         R"({"a": )", floats, R"(, "b": )", floats, "}}}"),
      R"(}}}}}, "episode_metadata": {"featuresDict": {"features": )",
      R"({"file_path": )", text, "}}}}}}");
}

void WriteTfds(const std::string& folder, const std::string& below,
               const std::string& features) {
  ASSERT_TRUE(MakeFolder(JoinPath(folder, below)).ok());
  WriteTestFile(folder, below + "/features.json", features);
  for (const char* name :
       {"x-train.tfrecord-00000-of-00002", "x-train.tfrecord-00001-of-00002",
        "x-test.tfrecord-00000-of-00001"}) {
    WriteTestFile(folder, JoinPath(below, name), "");
  }
}

TEST(TfdsFolderTest, FeaturesJsonNamesFeatures) {
  const std::string folder = NewTestFolder();
  WriteTfds(folder, "x/0.9.0", "{}");
  WriteTfds(folder, "x/0.10.0", FeaturesJson("image"));
  WriteTfds(folder, "y/1.0.0", FeaturesJson("wrist", /*all=*/false));
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_THAT(*sources, SizeIs(2));
  const MixtureSource& x = (*sources)[0];
  ASSERT_THAT(x.shards, SizeIs(2));
  EXPECT_THAT(x.shards[0], HasSubstr("/0.10.0/x-train.tfrecord-00000"));
  EXPECT_EQ(x.image, "steps/observation/image");
  EXPECT_THAT(x.action, ElementsAre("steps/action"));
  EXPECT_THAT(x.state, ElementsAre("steps/observation/state"));
  EXPECT_EQ(x.instruction, "steps/language_instruction");
  EXPECT_EQ(x.episode_id, "episode_metadata/file_path");
  const MixtureSource& y = (*sources)[1];
  EXPECT_EQ(y.image, "steps/observation/wrist");
  EXPECT_THAT(y.action, ElementsAre("steps/action/a", "steps/action/b"));
  EXPECT_THAT(y.state, SizeIs(0));
  EXPECT_EQ(y.instruction, "");
}

TEST(TfdsFolderTest, IntegersAreActionsAndIdsWhereThereIsNothingElse) {
  const std::string folder = NewTestFolder();
  std::string features = absl::StrReplaceAll(
      FeaturesJson("image"), {{"\"file_path\": {\"text\": {}}",
                               "\"file_path\": {\"text\": {}}, \"episode_id\":"
                               " {\"tensor\": {\"dtype\": \"int32\"}}"},
                              {"float32", "int64"}});
  WriteTfds(folder, "x/1.0.0", features);
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT((*sources)[0].action, ElementsAre("steps/action"));
  EXPECT_THAT((*sources)[0].state, ElementsAre("steps/observation/state"));
  EXPECT_EQ((*sources)[0].episode_id, "episode_metadata/episode_id");
}

TEST(TfdsFolderTest, TheFileReplacesNamesAndSplit) {
  const std::string folder = NewTestFolder();
  WriteTfds(folder, "x/1.0.0", FeaturesJson("image"));
  WriteTestFile(folder, "mixture.textproto",
                "weights { dataset: \"x\" weight: 2 split: \"test\" features "
                "{ image: \"steps/other\" state: \"a\" state: \"b\" } }");
  const auto sources = ReadMixtureFolder(folder);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT((*sources)[0].shards, SizeIs(1));
  EXPECT_EQ((*sources)[0].image, "steps/other");
  EXPECT_THAT((*sources)[0].state, ElementsAre("a", "b"));
  EXPECT_THAT((*sources)[0].action, ElementsAre("steps/action"));
  WriteTestFile(folder, "mixture.textproto",
                "weights { dataset: \"x\" weight: 2 split: \"dev\" }");
  EXPECT_THAT(Message(folder), HasSubstr("no shard of the split \"dev\""));
}

TEST(TfdsFolderTest, SaysWhatIsWrong) {
  const std::string folder = NewTestFolder();
  WriteTfds(folder, "x/1.0.0", "[1]");
  EXPECT_THAT(Message(folder),
              HasSubstr("features.json: is not a JSON object"));
  WriteTestFile(folder, "x/1.0.0/features.json", "{\"a\"");
  EXPECT_THAT(Message(folder),
              HasSubstr("features.json: is not a JSON object"));
  const std::string two = NewTestFolder();
  WriteTfds(two, "x/left/1.0.0", FeaturesJson("image"));
  WriteTfds(two, "x/right/1.0.0", FeaturesJson("image"));
  EXPECT_THAT(Message(two), HasSubstr("has several configs"));
}

}  // namespace
}  // namespace feedrate
