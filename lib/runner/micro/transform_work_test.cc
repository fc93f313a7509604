#include "lib/runner/micro/transform_work.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/measure/subject.h"
#include "lib/media/corpus.h"
#include "lib/media/video/clips.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/runner/micro/decode_row.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CopyLimitTest, IsMeasuredOnceUnlessARowExceedsIt) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_library("opencv");
  job.set_transform("HorizontalFlip");
  job.set_dataset("synthetic:rgb,n=3,seed=1");
  job.set_num_items(3);
  InputCorpora corpora(*catalogue, "", nullptr, [](const std::string&) {});
  const auto input = corpora.Get(job);
  ASSERT_TRUE(input.ok()) << input.status();
  CopyLimit limit(*catalogue);
  const std::optional<double> first = limit.Of(job, *input->corpus, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(*first, 0);
  EXPECT_EQ(limit.Of(job, *input->corpus, *first), first);
  // A row above the limit is measured against a higher one if there is one.
  EXPECT_GE(limit.Of(job, *input->corpus, 2 * *first), first);
  job.set_transform("CenterCrop128");
  EXPECT_FALSE(limit.Of(job, *input->corpus, 0).has_value());
}

constexpr int64_t kGib = int64_t{1} << 30;

TEST(ExpectedMemoryTest, OnlyWhatCopiesItsInputsTakesThem) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_library("pillow");
  EXPECT_GT(ExpectedTransformMemory(*catalogue, job, 4 * kGib), 4 * kGib);
  job.set_library("opencv");
  EXPECT_LT(ExpectedTransformMemory(*catalogue, job, 4 * kGib), kGib);
}

TimeReply SomeTiming() {
  TimeReply timing;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(samples_s: [ 1e-3, 1e-3, 2e-3 ]
         items: 300
         device {
           clocks_mhz: [ 1980, 1900, 1480 ]
           max_clock_mhz: 1980
           throttle_reasons: 4
           peak_allocated_bytes: 10
           peak_reserved_bytes: 20
           bytes_in: 3000
           bytes_out: 6000
         })",
      &timing));
  return timing;
}

Row TimedRow() {
  Row row;
  row.set_throughput(1000);
  row.add_warnings("noisy");
  return row;
}

TEST(GpuRowTest, ASlowSampleIsMarked) {
  Row row = TimedRow();
  SetGpu({}, SomeTiming(), &row);
  EXPECT_THAT(row.gpu().slow_samples(), ElementsAre(2));
  EXPECT_THAT(row.gpu().throttle_reasons(), ElementsAre("sw_power_cap"));
  EXPECT_THAT(row.warnings(), ElementsAre("noisy", "throttled"));
  EXPECT_THAT(row.gpu().clocks_mhz(), ElementsAre(1980, 1900, 1480));
  EXPECT_EQ(row.gpu_memory().peak_reserved_bytes(), 20);
}

TEST(GpuRowTest, AtFullClockNothingIs) {
  TimeReply timing = SomeTiming();
  // 75% of the highest is enough.
  const std::vector<int64_t> clocks = {1485, 1980, 1700};
  timing.mutable_device()->mutable_clocks_mhz()->Assign(clocks.begin(),
                                                        clocks.end());
  Row row = TimedRow();
  SetGpu({}, timing, &row);
  EXPECT_THAT(row.gpu().slow_samples(), IsEmpty());
  EXPECT_THAT(row.warnings(), ElementsAre("noisy"));
}

TEST(GpuRowTest, ALockedClockIsFullClock) {
  TimeReply timing = SomeTiming();
  const std::vector<int64_t> clocks = {1200, 1200, 800};
  timing.mutable_device()->mutable_clocks_mhz()->Assign(clocks.begin(),
                                                        clocks.end());
  GpuRowInput input;
  input.locked_clock_mhz = 1200;
  Row row = TimedRow();
  SetGpu(input, timing, &row);
  EXPECT_THAT(row.gpu().slow_samples(), ElementsAre(2));
}

TEST(GpuRowTest, ALoopOverABatchIsLabeled) {
  GpuRowInput input;
  input.settings.batch = 8;
  input.per_sample_loop = true;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_THAT(row.labels(), ElementsAre("cold", "per_sample_loop"));
}

TEST(GpuRowTest, TheLimitIsWhatMustMove) {
  GpuRowInput input;
  input.copy_bytes_per_s = 90000;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  // 30 bytes per item.
  EXPECT_EQ(row.limit().name(), "device copy");
  EXPECT_DOUBLE_EQ(row.limit().throughput(), 3000);
  EXPECT_DOUBLE_EQ(row.of_limit(), 1.0 / 3);
  // A crop need not read its whole input: 20.
  input.partial = true;
  SetGpu(input, SomeTiming(), &row);
  EXPECT_DOUBLE_EQ(row.limit().throughput(), 4500);
  // The speed of memory does not limit what is in L2.
  input.settings.cold = false;
  row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_FALSE(row.has_limit());
}

TEST(GpuRowTest, HotAndBatchesAreSaid) {
  GpuRowInput input;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_EQ(row.gpu().l2(), "cold");
  EXPECT_THAT(row.labels(), ElementsAre("cold"));
  EXPECT_EQ(row.timed_unit(), "");
  input.settings.cold = false;
  input.settings.batch = 100;
  row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_EQ(row.gpu().l2(), "hot");
  EXPECT_THAT(row.labels(), IsEmpty());
  EXPECT_EQ(row.timed_unit(), "batch");
  EXPECT_EQ(row.gpu().batch(), 100);
}

TEST(GpuRowTest, TheCpuHasNone) {
  TimeReply timing = SomeTiming();
  timing.clear_device();
  Row row = TimedRow();
  SetGpu({}, timing, &row);
  EXPECT_FALSE(row.has_gpu());
  EXPECT_FALSE(row.has_gpu_memory());
}

constexpr int kHeight = 20;
constexpr int kWidth = 160;

// Frames that show these numbers over a gray of `level`.
std::string Clip(const std::vector<int64_t>& numbers, int level) {
  std::string bytes;
  for (const int64_t number : numbers) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const auto square = PatternAt(number, kWidth, x, y);
        const int value = square.has_value() ? (*square ? 250 : 5) : level;
        bytes.append(3, static_cast<char>(value));
      }
    }
  }
  return bytes;
}

class DecodeCheckTest : public ::testing::Test {
 protected:
  DecodeCheckTest() : reference_(Reference()) {
    files_.push_back({"a.avi", 1, {3, 9}, kHeight, kWidth});
  }
  static Corpus Reference() {
    CorpusWriter writer =
        CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
    EXPECT_TRUE(writer.AddRoom({{2, kHeight, kWidth, 3}}).ok());
    EXPECT_TRUE(writer.Write(0, Clip({3, 9}, 100).data()).ok());
    return std::move(writer).Finish().value();
  }
  Equivalence Check(const std::string& bytes,
                    std::vector<int64_t> shape = {2, kHeight, kWidth, 3}) {
    ChildOutput output;
    output.bytes = bytes;
    output.info.set_dtype("uint8");
    output.info.set_layout("THWC");
    *output.info.mutable_shape() = {shape.begin(), shape.end()};
    decode_.Clear();
    return CompareClips({output}, reference_, files_, 40, &decode_);
  }

  const Corpus reference_;
  std::vector<ClipFile> files_;
  Decode decode_;
};

TEST_F(DecodeCheckTest, SameBytesAreExact) {
  const Equivalence result = Check(Clip({3, 9}, 100));
  EXPECT_EQ(result.label(), "exact");
  EXPECT_EQ(result.reference(), "ffmpeg");
  EXPECT_EQ(decode_.frames_compared(), 2);
  EXPECT_TRUE(decode_.has_wrong_frames());
  EXPECT_EQ(decode_.wrong_frames(), 0);
}

TEST_F(DecodeCheckTest, RoundingIsEquivalentAndAnotherColorIsNot) {
  const Equivalence close = Check(Clip({3, 9}, 101));
  EXPECT_EQ(close.label(), "equivalent");
  EXPECT_NEAR(close.max_abs_diff(), 1 / 255.0, 1e-9);
  EXPECT_GT(close.psnr_db(), 40);
  const Equivalence far = Check(Clip({3, 9}, 120));
  EXPECT_EQ(far.label(), "different");
  EXPECT_THAT(far.reference(), HasSubstr("frame 3 of clip 0 has a PSNR of"));
}

TEST_F(DecodeCheckTest, AnotherFrameIsNamed) {
  const Equivalence result = Check(Clip({3, 10}, 100));
  EXPECT_EQ(result.label(), "different");
  EXPECT_EQ(result.reference(), "frame 9 of clip 0 shows frame 10");
  EXPECT_EQ(decode_.wrong_frames(), 1);
}

TEST_F(DecodeCheckTest, AnotherShapeIsDifferent) {
  EXPECT_THAT(Check(Clip({3, 9}, 100), {2, kWidth, kHeight, 3}).reference(),
              HasSubstr("frame 3 of clip 0"));
  EXPECT_EQ(Check(Clip({3}, 100), {1, kHeight, kWidth, 3}).reference(),
            "clip 0 has 1 frames of uint8 THWC");
}

}  // namespace
}  // namespace feedrate
