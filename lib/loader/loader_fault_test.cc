// Files that are broken, workers that throw.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/epoch.h"
#include "lib/loader/file_source.h"
#include "lib/loader/loader.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LoaderOptions Options(int workers, OnError on_error) {
  LoaderOptions options;
  options.recipe.crop = 16;
  options.batch_size = 4;
  options.workers = workers;
  options.on_error = on_error;
  return options;
}

struct Result {
  absl::Status status;
  std::vector<int64_t> items;
  std::vector<float> values;
  int64_t faults = 0;
  std::vector<ItemFault> named;
};

Result RunAll(std::unique_ptr<Source> source, const LoaderOptions& options) {
  const auto loader = *Loader::Create(std::move(source), options);
  const auto epoch = *loader->StartEpoch(0);
  Result result;
  for (;;) {
    const auto batch = epoch->Next();
    result.status = batch.status();
    if (!batch.ok() || *batch == nullptr) break;
    for (int64_t item : (*batch)->items) result.items.push_back(item);
    result.values.insert(result.values.end(), (*batch)->data,
                         (*batch)->data + (*batch)->bytes() / 4);
  }
  epoch->Stop();
  result.faults = epoch->faults().total();
  result.named = epoch->faults().kept();
  return result;
}

TEST(LoaderFaultTest, TheItemBehindTakesThePlaceOfABrokenOne) {
  const std::string folder = TestFolder(10, {2, 3, 9});
  Result want;
  for (const int workers : {0, 1, 4}) {
    for (const ReadMethod method :
         {ReadMethod::kInline, ReadMethod::kThreads}) {
      LoaderOptions options = Options(workers, OnError::kSkip);
      options.read_ahead.method = method;
      const Result got = RunAll(*FolderSource(folder), options);
      ASSERT_TRUE(got.status.ok()) << got.status;
      EXPECT_THAT(got.items, ElementsAre(0, 1, 4, 4, 4, 5, 6, 7, 8, 0));
      EXPECT_EQ(got.faults, 3);
      ASSERT_THAT(got.named, SizeIs(3));
      EXPECT_THAT(got.named[0].name, HasSubstr("002.jpg"));
      EXPECT_THAT(got.named[0].reason, HasSubstr("JPEG"));
      EXPECT_EQ(got.named[2].item, 9);
      if (want.values.empty()) want = got;
      EXPECT_EQ(got.values, want.values);
    }
  }
}

TEST(LoaderFaultTest, OrTheEpochEndsWithItsName) {
  for (const int workers : {0, 1, 4}) {
    const Result got = RunAll(*FolderSource(TestFolder(10, {5})),
                              Options(workers, OnError::kFail));
    EXPECT_TRUE(absl::IsInvalidArgument(got.status)) << got.status;
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("005.jpg: JPEG"));
  }
}

TEST(LoaderFaultTest, FilesThatAreGoneOrOfAnotherKind) {
  const std::string folder = TestFolder(6);
  WriteTestFile(folder, "001.jpg", "GIF89a");
  std::vector<ListedFile> files;
  for (const char* name : {"000.jpg", "001.jpg", "none.jpg", "003.jpg"}) {
    files.push_back({folder + "/" + name, -1});
  }
  const Result got = RunAll(ListSource(files), Options(2, OnError::kSkip));
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_THAT(got.items, ElementsAre(0, 3, 3, 3));
  EXPECT_EQ(got.faults, 2);
}

TEST(LoaderFaultTest, NothingButBrokenFilesIsAnError) {
  for (const int workers : {0, 2}) {
    const Result got = RunAll(*FolderSource(TestFolder(3, {0, 1, 2})),
                              Options(workers, OnError::kSkip));
    EXPECT_FALSE(got.status.ok());
    EXPECT_THAT(std::string(got.status.message()),
                HasSubstr("none of the 2 items behind"));
  }
}

// A source whose item 6 throws, as a library might.
class ThrowingSource : public Source {
 public:
  ThrowingSource() : files_(*FolderSource(TestFolder(12))) {}
  int64_t size() const override { return files_->size(); }
  std::string name(int64_t item) const override { return files_->name(item); }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    if (item == 6) throw std::runtime_error("out of luck");
    return files_->Read(item, buffer);
  }

 private:
  std::unique_ptr<Source> files_;
};

TEST(LoaderFaultTest, AWorkerThatThrowsStopsTheEpochWithTheFile) {
  for (const auto& [workers, method] : {std::pair(0, ReadMethod::kInline),
                                        {1, ReadMethod::kInline},
                                        {4, ReadMethod::kInline},
                                        {2, ReadMethod::kThreads}}) {
    LoaderOptions options = Options(workers, OnError::kSkip);
    options.read_ahead.method = method;
    const Result got = RunAll(std::make_unique<ThrowingSource>(), options);
    EXPECT_EQ(got.status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("006.jpg"));
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("out of luck"));
  }
}

TEST(LoaderFaultTest, ATransformThatThrowsDoesToo) {
  LoaderOptions options = Options(2, OnError::kSkip);
  TransformSpec spec;
  // Of nine channels there is no grey.
  spec.native_op = "cv::cvtColor";
  spec.params = {"code=COLOR_RGB2GRAY", "back=COLOR_GRAY2RGB"};
  options.recipe.channels = 9;
  options.recipe.steps = {{{spec}, 1}};
  const auto loader = Loader::Create(*FolderSource(TestFolder(3)), options);
  EXPECT_FALSE(loader.ok());
  EXPECT_THAT(std::string(loader.status().message()), HasSubstr("throws"));
}

}  // namespace
}  // namespace feedrate
