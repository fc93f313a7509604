#include "lib/adapters/native/native_adapter.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/native/loader_job.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/mixture/testing.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/small_corpus.h"
#include "lib/records/worker.pb.h"
#include "lib/tar/builder.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

PrepareCommand Spec(const std::string& source) {
  LoaderSpec loader;
  loader.set_scope(source == "corpus" ? kMemoryScope : kDecodeScope);
  loader.set_source(source);
  loader.set_batch_size(4);
  loader.set_workers(2);
  loader.set_prefetch(2);
  loader.set_channels(3);
  loader.set_crop(16);
  loader.set_crop_position("random");
  for (const double value : {0.485, 0.456, 0.406}) {
    loader.add_mean(value);
  }
  for (const double value : {0.229, 0.224, 0.225}) {
    loader.add_std(value);
  }
  loader.set_input_scale(255);
  loader.set_on_error("skip");
  PrepareCommand spec;
  spec.set_library("native");
  spec.set_transform("HorizontalFlip");
  spec.set_native_op("cv::flip");
  spec.add_params("flip_code=1");
  *spec.mutable_loader() = loader;
  return spec;
}

LoaderInput Files(int count, const std::vector<int>& broken = {}) {
  const std::string folder = TestFolder(count, broken);
  LoaderInput input;
  for (int i = 0; i < count; ++i) {
    const std::string path = absl::StrCat(folder, "/00", i, ".jpg");
    input.files.push_back({path, -1});
  }
  return input;
}

std::unique_ptr<PreparedLoader> Prepare(const PrepareCommand& spec,
                                        const LoaderInput& input) {
  NativeAdapter adapter;
  auto loader = adapter.PrepareLoader(spec, input);
  EXPECT_TRUE(loader.ok()) << loader.status();
  EXPECT_EQ(adapter.threads(), 2);
  return *std::move(loader);
}

TEST(NativeAdapterTest, RunsAnEpochOverFiles) {
  const LoaderInput input = Files(9, {3});
  const auto loader = Prepare(Spec("files"), input);
  EpochCommand command;
  command.set_count(9);
  const auto reply = loader->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 9);
  EXPECT_EQ(reply->batches(), 3);
  EXPECT_EQ(reply->bytes_out(), 9 * 3 * 16 * 16 * 4);
  EXPECT_EQ(reply->errors_total(), 1);
  ASSERT_EQ(reply->errors_size(), 1u);
  EXPECT_EQ(reply->errors(0).item(), 3);
  EXPECT_THAT(reply->errors(0).path(), HasSubstr("003.jpg"));
  ASSERT_EQ(reply->stages_size(), 4u);
  EXPECT_EQ(reply->stages(1).name(), "decode");
  EXPECT_GT(reply->stages(1).busy_s(), 0);
}

TEST(NativeAdapterTest, OutputsAreThoseOfTheSeed) {
  const LoaderInput input = Files(4);
  const auto loader = Prepare(Spec("files"), input);
  const auto keep = [&](int64_t item, uint64_t seed) {
    const auto output = loader->OutputFor(item, seed);
    EXPECT_TRUE(output.ok()) << output.status();
    EXPECT_THAT(output->shape, ElementsAre(3, 16, 16));
    EXPECT_EQ(output->dtype, "float32");
    return std::string(static_cast<const char*>(output->data), output->bytes);
  };
  EXPECT_EQ(keep(1, 5), keep(1, 5));
  EXPECT_NE(keep(1, 5), keep(1, 6));
  EXPECT_NE(keep(1, 5), keep(2, 5));
  EXPECT_FALSE(loader->OutputFor(4, 0).ok());
}

TEST(NativeAdapterTest, ShardsAndTheCopyScope) {
  const std::string folder = NewTestFolder();
  tar::Builder builder;
  for (int i = 0; i < 5; ++i) {
    builder.File(absl::StrCat(i, ".jpg"), TestJpeg(30, 40, i))
        .File(absl::StrCat(i, ".cls"), "1");
  }
  LoaderInput input;
  input.files.push_back({WriteTestFile(folder, "a.tar", builder.Finish()), -1});
  PrepareCommand spec = Spec("shards");
  spec.mutable_loader()->set_scope(kCopyScope);
  EpochCommand command;
  command.set_count(5);
  const auto reply = Prepare(spec, input)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 5);
  EXPECT_EQ(reply->stages().rbegin()->name(), "copy");
}

TEST(NativeAdapterTest, MemoryWithMixing) {
  const Corpus corpus = SmallCorpus(3);
  LoaderInput input;
  input.corpus = &corpus;
  PrepareCommand spec = Spec("corpus");
  spec.set_native_op("feedrate::mixup");
  spec.clear_params();
  spec.add_params("alpha=0.8");
  spec.mutable_loader()->set_batch_transform("mixup");
  EpochCommand command;
  command.set_count(10);
  const auto reply = Prepare(spec, input)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->batches(), 3);
}

TEST(NativeAdapterTest, ThreeAugmentWithColorJitter) {
  const LoaderInput input = Files(4);
  PrepareCommand spec = Spec("files");
  spec.set_native_op("feedrate::steps");
  spec.clear_params();
  for (const char* param :
       {"step1=0.5 cv::flip{flip_code=1}",
        "step2=cv::cvtColor{code=COLOR_RGB2GRAY;back=COLOR_GRAY2RGB} | "
        "cv::LUT{threshold=128} | cv::GaussianBlur{ksize=(5,5);sigma=2.0}",
        "step3=cv::LUT+cv::cvtColor+cv::addWeighted{brightness=U(0.7,1.3);"
        "contrast=U(0.7,1.3);saturation=U(0.7,1.3)}"}) {
    spec.add_params(param);
  }
  EpochCommand command;
  command.set_count(20);
  const auto reply = Prepare(spec, input)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 20);
}

TEST(NativeAdapterTest, ACorruptFileCanFailTheEpoch) {
  const LoaderInput input = Files(9, {3});
  PrepareCommand spec = Spec("files");
  spec.mutable_loader()->set_on_error("fail");
  EpochCommand command;
  command.set_count(9);
  const auto reply = Prepare(spec, input)->RunEpoch(command);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("003.jpg"));
}

TEST(NativeAdapterTest, SettingsOfASweep) {
  const LoaderInput input = Files(9);
  PrepareCommand spec = Spec("files");
  EpochCommand command;
  command.set_count(9);
  for (const char* method : {"inline", "threads", "auto"}) {
    (*spec.mutable_loader()->mutable_settings())["read_ahead"] = method;
    (*spec.mutable_loader()->mutable_settings())["read_threads"] = "2";
    (*spec.mutable_loader()->mutable_settings())["read_depth"] = "3";
    (*spec.mutable_loader()->mutable_settings())["access"] = "mmap";
    (*spec.mutable_loader()->mutable_settings())["scaled_decode"] = "true";
    (*spec.mutable_loader()->mutable_settings())["jpeg_index"] = "true";
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
    const auto reply = Prepare(spec, input)->RunEpoch(command);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->items(), 9);
    EXPECT_TRUE(std::filesystem::exists(::testing::TempDir() +
                                        "/feedrate/feedrate.jpegindex"));
  }
  NativeAdapter adapter;
  for (const auto& [name, value] : {std::pair("read_depth", "0"),
                                    {"read_ahead", "maybe"},
                                    {"jpeg_index", "/tmp/index"},
                                    {"color", "1"}}) {
    spec.mutable_loader()->clear_settings();
    (*spec.mutable_loader()->mutable_settings())[name] = value;
    EXPECT_THAT(
        std::string(adapter.PrepareLoader(spec, input).status().message()),
        HasSubstr(absl::StrCat("no setting ", name, "=", value)));
  }
}

// Threads in a child process that a server forked.
TEST(NativeAdapterTest, AChildOfAServerRunsEpochs) {
  const Corpus corpus = SmallCorpus(3);
  TestRunner runner(std::make_unique<NativeAdapter>());
  const auto child = runner.Spawn("native", corpus);
  EXPECT_THAT(*child->Ask(CommandLine(Spec("corpus"))),
              HasSubstr("\"threads\":2"));
  EpochCommand command;
  command.set_count(10);
  for (int i = 0; i < 3; ++i) {
    const auto reply = ParseEpochReply(*child->Ask(CommandLine(command)));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->items(), 10);
    EXPECT_EQ(reply->batches(), 3);
  }
  EXPECT_THAT(*child->Outputs({0, 1}), HasSubstr("\"shape\":[3,16,16]"));
  child->HangUp();
  EXPECT_EQ(runner.Reap(child->pid())->status(), 0);
}

TEST(NativeAdapterTest, RefusesWhatItCannotDo) {
  NativeAdapter adapter;
  const LoaderInput input = Files(1);
  PrepareCommand spec = Spec("files");
  spec.set_native_op("cv::unheard");
  EXPECT_THAT(
      std::string(adapter.PrepareLoader(spec, input).status().message()),
      HasSubstr("cv::unheard"));
  spec = Spec("files");
  spec.set_device("cuda");
  EXPECT_THAT(
      std::string(adapter.PrepareLoader(spec, input).status().message()),
      HasSubstr("on the cpu"));
  // With a GPU and CUDA built in, the copy goes there.
  spec.mutable_loader()->set_scope(kCopyScope);
  const auto copies = adapter.PrepareLoader(spec, input);
  if (!copies.ok()) {
    EXPECT_THAT(
        std::string(copies.status().message()),
        AnyOf(HasSubstr("built without CUDA"), HasSubstr("there is no GPU")));
  }
  spec = Spec("files");
  spec.set_native_op("feedrate::mixup");
  spec.clear_params();
  spec.add_params("beta=1");
  EXPECT_FALSE(adapter.PrepareLoader(spec, input).ok());
}

using ::testing::HasSubstr;

PrepareCommand SmallSpec() {
  PrepareCommand spec;
  *spec.mutable_mixture() = CommandOf(TestOptions(0).spec);
  return spec;
}

TEST(NativeMixtureTest, CountsWhatBatchesHold) {
  const std::vector<MixtureSource> sources = TestMixture();
  const auto loader = PrepareNativeMixture(SmallSpec(), sources);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EpochCommand command;
  command.set_seed(3);
  command.set_count(40);
  const absl::StatusOr<EpochReply> reply = (*loader)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 40);
  ASSERT_EQ(reply->batches(), 5);
  ASSERT_EQ(reply->times_s_size(), 5);
  ASSERT_EQ(reply->counts_size(), 5);
  double before = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(reply->times_s(i), before);
    before = reply->times_s(i);
    int64_t samples = 0;
    for (int j = 1; j < reply->counts(i).list_size(); j += 2) {
      samples += reply->counts(i).list(j);
    }
    EXPECT_EQ(samples, 8);
  }
  EXPECT_EQ(reply->bytes_out(), 40 * 2 * 24 * 24 * 3);
  EXPECT_EQ(reply->stages_size(), 2);
  EXPECT_GT(reply->memory_bound_bytes(), 0);
  EXPECT_TRUE((*loader)->Stop().ok());
  // Again: the same batches.
  const absl::StatusOr<EpochReply> again = (*loader)->RunEpoch(command);
  ASSERT_EQ(again->counts_size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(again->counts(i).list(),
                ElementsAreArray(reply->counts(i).list()));
  }
}

TEST(NativeMixtureTest, AWeightOfNothingIsRefused) {
  std::vector<MixtureSource> sources = TestMixture();
  for (const double weight : {0.0, -1.0}) {
    sources[1].weight = weight;
    EXPECT_THAT(
        std::string(
            PrepareNativeMixture(SmallSpec(), sources).status().message()),
        HasSubstr("data set \"b\": weight"));
  }
}

TEST(NativeMixtureTest, ATeardownCanBeDelayed) {
  const std::vector<MixtureSource> sources = TestMixture();
  const auto loader = PrepareNativeMixture(SmallSpec(), sources);
  ASSERT_TRUE(loader.ok()) << loader.status();
  setenv(kTeardownDelayVariable, "0.05", 1);
  EXPECT_GE((*loader)->Stop().value(), 0.05);
  unsetenv(kTeardownDelayVariable);
}

// Every entry of configs/transforms/ for opencv as a recipe of the loader:
// crop, the transform, normalization. Batches have one shape, and are the same
// for the same seed.

constexpr int kCrop = 64;

PrepareCommand SpecOf(const std::string& scenario, const std::string& name,
                      const Implementation& entry, int channels) {
  PrepareCommand spec;
  spec.set_library("native");
  spec.set_transform(name);
  spec.set_scenario(scenario);
  spec.set_native_op(entry.native_op());
  *spec.mutable_params() = entry.params();
  spec.set_wrap(entry.wrap());
  LoaderSpec loader;
  loader.set_scope(kMemoryScope);
  loader.set_source("corpus");
  loader.set_batch_size(4);
  loader.set_workers(2);
  loader.set_prefetch(2);
  loader.set_channels(channels);
  loader.set_crop(kCrop);
  loader.set_crop_position("random");
  loader.set_is_crop(entry.native_op().find("cv::Mat(Rect)+") == 0);
  for (const double value : {0.485, 0.456, 0.406}) {
    loader.add_mean(value);
  }
  for (const double value : {0.229, 0.224, 0.225}) {
    loader.add_std(value);
  }
  loader.set_input_scale(255);
  loader.set_on_error("fail");
  *spec.mutable_loader() = loader;
  return spec;
}

std::string OutputOf(PreparedLoader* loader, int64_t item, uint64_t seed) {
  const auto output = loader->OutputFor(item, seed);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return "";
  const float* const values = static_cast<const float*>(output->data);
  for (int64_t i = 0; i < output->bytes / 4; ++i) {
    EXPECT_TRUE(std::isfinite(values[i]));
    if (!std::isfinite(values[i])) break;
  }
  return std::string(static_cast<const char*>(output->data), output->bytes);
}

// Returns how many entries of the profile `paper` run.
int TryAll(const std::string& scenario, int channels) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  const TransformSet& set =
      **catalogue.Transforms(*catalogue.FindScenario(scenario));
  const Corpus corpus =
      SmallCorpus({{1, 90, 120, channels}, {1, 70, 50, channels}});
  LoaderInput input;
  input.corpus = &corpus;
  int paper = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "opencv" && entry.library() != "native") continue;
      SCOPED_TRACE(absl::StrCat(scenario, " ", transform.name(), " ",
                                entry.params_profile()));
      NativeAdapter adapter;
      auto loader = adapter.PrepareLoader(
          SpecOf(scenario, transform.name(), entry, channels), input);
      EXPECT_TRUE(loader.ok()) << loader.status();
      if (!loader.ok()) continue;
      EpochCommand command;
      command.set_count(6);
      const auto reply = (*loader)->RunEpoch(command);
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply.ok()) continue;
      EXPECT_EQ(reply->items(), 6);
      EXPECT_EQ(OutputOf(loader->get(), 1, 7), OutputOf(loader->get(), 1, 7));
      paper += entry.params_profile() != "matched";
    }
  }
  return paper;
}

TEST(NativeCellsTest, Rgb) { EXPECT_GE(TryAll("image-rgb", 3), 45); }

TEST(NativeCellsTest, NineChannels) { EXPECT_GE(TryAll("image-9ch", 9), 30); }

TEST(EpochReportTest, AllFaultsAreCountedAndTheFirstNamed) {
  FaultList faults;
  const int64_t count = kMaxNamedErrors + 10;
  for (int64_t i = 0; i < count; ++i) {
    faults.Add({count - 1 - i, i, "name", "reason"});
  }
  EpochReply reply;
  ReportFaults(faults, &reply);
  EXPECT_EQ(reply.errors_total(), count);
  EXPECT_EQ(reply.errors_size(), kMaxNamedErrors);
  EXPECT_EQ(reply.errors(0).item(), count - 1);
  EXPECT_EQ(reply.errors(0).path(), "name");
  EXPECT_EQ(reply.errors(0).reason(), "reason");
}

TEST(EpochReportTest, StagesKeepTheirTimes) {
  StageReport stage;
  stage.name = "decode";
  stage.busy_s = 1;
  stage.wait_in_s = 2;
  stage.wait_out_s = 3;
  stage.queue_fill = 4;
  EpochReply reply;
  ReportStages({stage}, &reply);
  ASSERT_EQ(reply.stages_size(), 1);
  EXPECT_EQ(reply.stages(0).name(), "decode");
  EXPECT_EQ(reply.stages(0).busy_s(), 1);
  EXPECT_EQ(reply.stages(0).wait_in_s(), 2);
  EXPECT_EQ(reply.stages(0).wait_out_s(), 3);
  EXPECT_EQ(reply.stages(0).queue_fill(), 4);
}

}  // namespace
}  // namespace feedrate
