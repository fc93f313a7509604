#include "lib/loader/cuda/gpu_work.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/batch.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(BatchQueueTest, PiecesStayWithinABatch) {
  BatchQueue queue(10, 4, 3);
  auto piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->batch, 0);
  EXPECT_THAT(piece->places, ElementsAre(0, 1, 2));
  EXPECT_EQ(piece->samples(), 3);
  piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_THAT(piece->places, ElementsAre(3));
  EXPECT_EQ(piece->PartnerOf(0), -1);
  piece = queue.Take(100);
  EXPECT_THAT(piece->places, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(piece->slot, 1);
  EXPECT_EQ(piece->PartnerOf(1), -1) << "nothing is mixed";
  piece = queue.Take(100);
  EXPECT_THAT(piece->places, ElementsAre(0, 1));
  EXPECT_EQ(piece->slot, 2);
  EXPECT_FALSE(queue.Take(1).has_value());
}

TEST(BatchQueueTest, EachTakesFromItsEnd) {
  // By cost: 2, 0, 1, 4, 3; then 5.
  const std::vector<double> costs = {2, 3, 1, 9, 8, 0};
  BatchQueue queue(6, 5, 2, /*paired=*/false,
                   [&](int64_t position) { return costs[position]; });
  EXPECT_THAT(queue.Take(2, BatchQueue::End::kHigh)->places, ElementsAre(4, 3));
  EXPECT_THAT(queue.Take(1, BatchQueue::End::kLow)->places, ElementsAre(2));
  EXPECT_THAT(queue.Take(9, BatchQueue::End::kHigh)->places, ElementsAre(0, 1));
  const auto last = queue.Take(9, BatchQueue::End::kLow);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->batch, 1);
  EXPECT_THAT(last->places, ElementsAre(0));
  EXPECT_FALSE(queue.Take(1, BatchQueue::End::kHigh).has_value());
}

TEST(BatchQueueTest, PairsCostWhatBothDo) {
  // Pairs 0 and 4, 1 and 3, and the middle with itself.
  const std::vector<double> costs = {5, 1, 3, 2, 5};
  BatchQueue queue(5, 5, 1, /*paired=*/true,
                   [&](int64_t position) { return costs[position]; });
  EXPECT_THAT(queue.Take(2, BatchQueue::End::kLow)->places, ElementsAre(1, 3));
  const auto rest = queue.Take(8, BatchQueue::End::kHigh);
  ASSERT_TRUE(rest.has_value());
  EXPECT_THAT(rest->places, ElementsAre(2, 0, 4));
  EXPECT_EQ(rest->PartnerOf(0), -1);
  EXPECT_EQ(rest->PartnerOf(1), 2);
  EXPECT_EQ(rest->PartnerOf(2), 1);
}

TEST(BatchQueueTest, BatchesComeInOrderWhenWhole) {
  BatchQueue queue(5, 2, 2);
  const auto a = queue.Take(1);
  const auto b = queue.Take(1);
  const auto c = queue.Take(2);
  queue.Done(*c);
  queue.Done(*b);
  queue.Done(*a);
  auto batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->first, 0);
  EXPECT_EQ((*batch)->slot, 0);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->first, 2);
  // The first slot is free again: there is room for the last sample.
  const auto d = queue.Take(2);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->samples(), 1);
  EXPECT_EQ(d->slot, 0);
  queue.Done(*d);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->count, 1);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_FALSE(batch->has_value());
}

TEST(BatchQueueTest, SplitsTheLastBatch) {
  BatchQueue queue(6, 3, 4, /*paired=*/false, nullptr, /*splits_last=*/true);
  std::vector<int64_t> positions;
  while (const auto piece = queue.Take(8)) {
    for (const int place : piece->places) {
      positions.push_back(piece->first + place);
    }
    queue.Done(*piece);
  }
  EXPECT_THAT(positions, ElementsAre(0, 1, 2, 3, 4, 5));
  std::vector<std::pair<int64_t, int>> batches;
  for (auto batch = *queue.Next(); batch.has_value(); batch = *queue.Next()) {
    batches.push_back({batch->first, batch->count});
  }
  EXPECT_THAT(batches, ElementsAre(Pair(0, 3), Pair(3, 2), Pair(5, 1)));
}

TEST(BatchQueueTest, ASlotThatIsGivenBackIsUsedAgain) {
  BatchQueue queue(4, 2, 1);
  EXPECT_FALSE(queue.WaitFor(0));
  const auto first = queue.Take(2);
  queue.Done(*first);
  EXPECT_TRUE(queue.WaitFor(0));
  EXPECT_EQ((*queue.Next())->first, 0);
  // Otherwise there would be no slot for it.
  queue.GiveBack();
  const auto second = queue.Take(2);
  EXPECT_EQ(second->first, 2);
  EXPECT_FALSE(queue.WaitFor(0));
  queue.Done(*second);
  EXPECT_EQ((*queue.Next())->first, 2);
  // At the end there is nothing to wait for.
  EXPECT_TRUE(queue.WaitFor(0));
  EXPECT_FALSE(queue.Next()->has_value());
}

TEST(BatchQueueTest, AFailureReachesTheConsumer) {
  BatchQueue queue(4, 2, 1);
  queue.Fail(absl::InternalError("a kernel failed"));
  queue.Fail(absl::InternalError("a later one"));
  EXPECT_FALSE(queue.Take(1).has_value());
  EXPECT_EQ(queue.Next().status().message(), "a kernel failed");
}

void MakeEachSampleOnce(bool paired) {
  // The last batch has 23 samples.
  constexpr int64_t kCount = 10007;
  BatchQueue queue(kCount, 64, 3, paired, [](int64_t position) {
    return static_cast<double>(position * 37 % 64);
  });
  std::vector<std::atomic<int>> made(kCount);
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&, i] {
      const auto end =
          i % 2 == 0 ? BatchQueue::End::kLow : BatchQueue::End::kHigh;
      while (const auto piece = queue.Take(i % 2 == 0 ? 5 : 17, end)) {
        for (const int place : piece->places) {
          ++made[piece->batch * 64 + place];
        }
        queue.Done(*piece);
      }
    });
  }
  int64_t delivered = 0;
  while (true) {
    const auto batch = queue.Next();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    ASSERT_EQ((*batch)->first, delivered);
    for (int k = 0; k < (*batch)->count; ++k) {
      ASSERT_EQ(made[delivered + k], 1);
    }
    delivered += (*batch)->count;
  }
  EXPECT_EQ(delivered, kCount);
  for (std::thread& maker : makers) maker.join();
}

TEST(BatchQueueTest, ManyMakersMakeEachSampleOnce) {
  MakeEachSampleOnce(/*paired=*/false);
}

TEST(BatchQueueTest, AndSoTheyDoInPairs) {
  MakeEachSampleOnce(/*paired=*/true);
}

TEST(BatchQueueTest, PartnersAreInOnePiece) {
  for (const int size : {1, 2, 3, 7, 8}) {
    for (const int most : {1, 2, 4, 6, 64}) {
      SCOPED_TRACE(absl::StrCat(size, " by ", most));
      BatchQueue queue(size, 8, 1, /*paired=*/true);
      std::vector<int> made(size, 0);
      while (const auto piece = queue.Take(most)) {
        EXPECT_LE(piece->samples(), std::max(2, most));
        for (int i = 0; i < piece->samples(); ++i) {
          const int place = piece->places[i];
          ++made[place];
          const int partner = piece->PartnerOf(i);
          if (partner < 0) {
            EXPECT_EQ(place, size - 1 - place) << "only the middle has none";
            continue;
          }
          EXPECT_EQ(piece->places[partner], MixPartner(place, size));
          EXPECT_EQ(piece->PartnerOf(partner), i);
        }
      }
      EXPECT_EQ(made, std::vector<int>(size, 1));
    }
  }
}

TEST(BatchQueueTest, StopsEarly) {
  BatchQueue queue(100, 10, 2);
  std::thread maker([&] {
    while (const auto piece = queue.Take(10)) queue.Done(*piece);
  });
  ASSERT_TRUE(queue.Next()->has_value());
  queue.Fail(absl::OkStatus());
  maker.join();
  EXPECT_FALSE(queue.Next()->has_value());
}

using ::testing::HasSubstr;

using Settings = std::map<std::string, std::string>;

absl::StatusOr<GpuLoaderOptions> With(const std::string& nvjpeg) {
  return GpuLoaderOptionsOf(
      3, nvjpeg.empty() ? Settings() : Settings{{"nvjpeg", nvjpeg}});
}

TEST(GpuLoaderOptionsTest, WhoDecodes) {
  const auto options = With("").value();
  EXPECT_EQ(options.workers, 3);
  EXPECT_GT(options.hardware_threads, 0);
  EXPECT_EQ(options.gpu_threads, 0);
  EXPECT_TRUE(options.nvjpeg_optional);
  EXPECT_EQ(With("off")->hardware_threads, 0);
  EXPECT_EQ(With("gpu")->hardware_threads, 0);
  EXPECT_GT(With("gpu")->gpu_threads, 0);
  EXPECT_GT(With("both")->gpu_threads, 0);
  EXPECT_GT(With("both")->hardware_threads, 0);
  EXPECT_FALSE(With("hardware")->nvjpeg_optional);
}

TEST(GpuLoaderOptionsTest, HowManyFeedTheEngines) {
  Settings settings = {{"nvjpeg", "both"}, {"nvjpeg_threads", "7"}};
  EXPECT_EQ(GpuLoaderOptionsOf(3, settings)->hardware_threads, 7);
  EXPECT_EQ(GpuLoaderOptionsOf(3, settings)->gpu_threads, 7);
  settings["nvjpeg"] = "off";
  EXPECT_EQ(GpuLoaderOptionsOf(3, settings)->hardware_threads, 0);
  for (const char* wrong : {"0", "65", "-1", "two", ""}) {
    settings["nvjpeg_threads"] = wrong;
    EXPECT_THAT(std::string(GpuLoaderOptionsOf(3, settings).status().message()),
                HasSubstr("use 1 to 64"))
        << wrong;
  }
}

TEST(GpuLoaderOptionsTest, MistakesAreNamed) {
  EXPECT_THAT(std::string(With("maybe").status().message()),
              HasSubstr("nvjpeg=maybe"));
  const Settings settings = {{"color", "red"}};
  EXPECT_THAT(std::string(GpuLoaderOptionsOf(3, settings).status().message()),
              HasSubstr("no setting color=red"));
}

TEST(GpuLoaderOptionsTest, AnIndexIsInsteadOfNvjpeg) {
  Settings settings = {{"jpeg_index", "true"}};
  const auto options = GpuLoaderOptionsOf(3, settings).value();
  EXPECT_TRUE(options.jpeg_index);
  EXPECT_EQ(options.hardware_threads + options.gpu_threads, 0);
  settings["nvjpeg"] = "both";
  EXPECT_THAT(std::string(GpuLoaderOptionsOf(3, settings).status().message()),
              HasSubstr("nvjpeg=both: with jpeg_index"));
  settings["jpeg_index"] = "false";
  EXPECT_GT(GpuLoaderOptionsOf(3, settings)->gpu_threads, 0);
  settings["jpeg_index"] = "/tmp/index";
  EXPECT_FALSE(GpuLoaderOptionsOf(3, settings).ok());
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Decodes at most `most` files at a time, and no bad file.
class Engine {
 public:
  Engine(int most, std::set<int> bad) : most_(most), bad_(std::move(bad)) {}

  absl::Status Decode(int first, int count) {
    ++calls_;
    if (count > most_) return absl::ResourceExhaustedError("too much");
    for (int i = first; i < first + count; ++i) {
      if (bad_.count(i) > 0) return absl::DataLossError("one is broken");
    }
    for (int i = first; i < first + count; ++i) decoded_.push_back(i);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> Run(int count) {
    return DecodeInParts(
        count, [this](int first, int size) { return Decode(first, size); });
  }

  int calls() const { return calls_; }
  const std::vector<int>& decoded() const { return decoded_; }

 private:
  const int most_;
  const std::set<int> bad_;
  int calls_ = 0;
  std::vector<int> decoded_;
};

TEST(DecodePartsTest, GoodBatchesAreOneCall) {
  Engine engine(64, {});
  EXPECT_THAT(*engine.Run(5), IsEmpty());
  EXPECT_EQ(engine.calls(), 1);
  EXPECT_THAT(*engine.Run(0), IsEmpty());
  EXPECT_EQ(engine.calls(), 1);
}

TEST(DecodePartsTest, WhatIsTooMuchIsDoneInHalves) {
  Engine engine(3, {});
  EXPECT_THAT(*engine.Run(10), IsEmpty());
  EXPECT_THAT(engine.decoded(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(DecodePartsTest, ABrokenFileIsFound) {
  Engine engine(64, {5, 11});
  EXPECT_THAT(*engine.Run(16), ElementsAre(5, 11));
  EXPECT_EQ(engine.decoded().size(), 14u);
  // Fewer than one call per file.
  EXPECT_LE(engine.calls(), 15);
}

TEST(DecodePartsTest, NoMemoryAtAllIsRefusedFileByFile) {
  Engine engine(0, {});
  EXPECT_THAT(*engine.Run(3), ElementsAre(0, 1, 2));
}

TEST(DecodePartsTest, OtherErrorsEndIt) {
  int calls = 0;
  const auto refused = DecodeInParts(8, [&](int, int) {
    ++calls;
    return absl::InternalError("the device is gone");
  });
  EXPECT_EQ(std::string(refused.status().message()), "the device is gone");
  EXPECT_EQ(calls, 1);
}

TEST(JpegHeadTest, ReadsPhotographs) {
  const std::string file = SyntheticJpeg(1, 0);
  const auto head = ReadJpegHead(file);
  ASSERT_TRUE(head.has_value());
  const ImageInfo size = SyntheticSize(1, 0);
  EXPECT_EQ(head->height, size.height);
  EXPECT_EQ(head->width, size.width);
  EXPECT_EQ(head->components, 3);
  EXPECT_TRUE(head->baseline);
  EXPECT_TRUE(EngineDecodes(*head));
}

TEST(JpegHeadTest, EveryBeginningIsReadOrRefused) {
  const std::string file = SyntheticJpeg(1, 0);
  int refused = 0;
  for (size_t size = 0; size < 700; ++size) {
    refused += !ReadJpegHead(file.substr(0, size)).has_value();
  }
  EXPECT_GT(refused, 100);
  EXPECT_FALSE(ReadJpegHead("\x89PNG\r\n\x1a\n and more").has_value());
}

// Length, 8 bits, 16 x 32, three components with these samplings.
std::string Frame(char marker, char first, char second) {
  std::string file = "\xFF\xD8\xFF\xE0";
  file += std::string("\0\4ab", 4);
  // Fill bytes.
  file += "\xFF\xFF";
  file += "\xFF";
  file += marker;
  file += std::string("\0\x11\x08\0\x10\0\x20\3", 8);
  file += std::string({1, first, 0, 2, second, 1, 3, second, 1});
  return file;
}

TEST(JpegHeadTest, WhatEnginesDoNotDecode) {
  auto head = ReadJpegHead(Frame('\xC0', 0x22, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->height, 16);
  EXPECT_EQ(head->width, 32);
  EXPECT_TRUE(EngineDecodes(*head));
  head = ReadJpegHead(Frame('\xC2', 0x22, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_FALSE(EngineDecodes(*head)) << "progressive";
  head = ReadJpegHead(Frame('\xC0', 0x41, 0x11));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->across, 4);
  EXPECT_FALSE(EngineDecodes(*head)) << "4:1:1";
  EXPECT_FALSE(ReadJpegHead(Frame('\xC0', 0x22, 0)).has_value());
  EXPECT_FALSE(ReadJpegHead(Frame('\xDA', 0x22, 0x11)).has_value());
}

}  // namespace
}  // namespace feedrate
