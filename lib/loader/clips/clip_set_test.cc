// Which frames clips have, and samples of several threads, of files and of
// bytes. python/tests/clips_test.py has everything else.
#include "lib/loader/clips/clip_set.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/loader/clips/clip_sampling.h"
#include "lib/loader/loader.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/resample.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSide = 96;
constexpr int kFrames = 4;

std::vector<int64_t> FramesOf(ClipSampling sampling, int64_t num_frames,
                              int64_t clip = 0, int clips = 1,
                              double stride = 2, uint64_t seed = 1) {
  ClipTiming timing;
  timing.sampling = sampling;
  timing.frames = kFrames;
  timing.stride = stride;
  timing.clips = clips;
  Random random(seed);
  return FramesOfClip(timing, {num_frames, {}}, clip, &random);
}

TEST(ClipSamplingTest, FramesOfEachRule) {
  EXPECT_THAT(FramesOf(ClipSampling::kUniform, 31), ElementsAre(0, 10, 20, 30));
  // Two clips: every other one of eight positions, 30 / 7 apart.
  EXPECT_THAT(FramesOf(ClipSampling::kUniform, 31, 0, 2),
              ElementsAre(0, 8, 17, 25));
  EXPECT_THAT(FramesOf(ClipSampling::kUniform, 31, 1, 2),
              ElementsAre(4, 12, 21, 30));
  EXPECT_THAT(FramesOf(ClipSampling::kConsecutive, 31),
              ElementsAre(12, 14, 16, 18));
  EXPECT_THAT(FramesOf(ClipSampling::kConsecutive, 31, 0, 3),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(FramesOf(ClipSampling::kConsecutive, 31, 2, 3),
              ElementsAre(24, 26, 28, 30));
  EXPECT_THAT(FramesOf(ClipSampling::kDense, 31, 2),
              ElementsAre(16, 18, 20, 22));
  std::set<int64_t> starts;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const std::vector<int64_t> frames =
        FramesOf(ClipSampling::kRandom, 31, 0, 1, 2, seed);
    EXPECT_EQ(frames[3], frames[0] + 6);
    starts.insert(frames[0]);
  }
  EXPECT_EQ(starts.size(), 25);
  EXPECT_EQ(*starts.rbegin(), 24);
}

TEST(ClipSamplingTest, ShortVideosRepeatTheLastFrame) {
  for (const ClipSampling sampling :
       {ClipSampling::kRandom, ClipSampling::kConsecutive,
        ClipSampling::kDense}) {
    EXPECT_THAT(FramesOf(sampling, 4), ElementsAre(0, 2, 3, 3));
    EXPECT_THAT(FramesOf(sampling, 1), ElementsAre(0, 0, 0, 0));
  }
  EXPECT_THAT(FramesOf(ClipSampling::kUniform, 3), ElementsAre(0, 1, 2, 2));
}

TEST(ClipSamplingTest, DenseClipsAreCounted) {
  ClipTiming timing;
  timing.sampling = ClipSampling::kDense;
  timing.frames = kFrames;
  timing.stride = 2;
  for (const auto& [frames, clips] :
       std::map<int64_t, int64_t>{{1, 1}, {7, 1}, {14, 1}, {15, 2}, {31, 4}}) {
    EXPECT_EQ(CountClips(timing, {frames, {}}), clips) << frames;
  }
  timing.step = 1;
  EXPECT_EQ(CountClips(timing, {8, {}}), 2);
}

// Places beyond all numbers: of a stride, and of a video that says it is long.
TEST(ClipSamplingTest, WhatIsFarAwayIsTheEnd) {
  Random random(1);
  ClipTiming timing;
  timing.sampling = ClipSampling::kDense;
  timing.frames = 2;
  timing.stride = 0x1p62;
  EXPECT_EQ(FramesOfClip(timing, {9, {}}, 0, &random),
            (std::vector<int64_t>{0, 8}));
  timing.in_seconds = true;
  timing.stride = timing.step = 1;
  EXPECT_EQ(CountClips(timing, {3, {0, 1, 1e300}}), kMaxDatasetObjects);
}

TEST(ClipSamplingTest, SecondsHaveTheFrameThatIsShownThen) {
  ClipTiming timing;
  timing.sampling = ClipSampling::kConsecutive;
  timing.frames = kFrames;
  timing.in_seconds = true;
  timing.stride = 0.1;
  timing.clips = 2;
  // The last frame is shown 0.4 s after the first.
  const ClipVideo video{5, {0, 0.1, 0.15, 0.3, 0.4}};
  Random random(1);
  EXPECT_THAT(FramesOfClip(timing, video, 0, &random), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(FramesOfClip(timing, video, 1, &random), ElementsAre(1, 2, 3, 4));
  timing.stride = 0.2;
  EXPECT_THAT(FramesOfClip(timing, video, 0, &random), ElementsAre(0, 2, 4, 4));
  timing.sampling = ClipSampling::kDense;
  timing.stride = 0.05;
  timing.step = 0.1;
  EXPECT_EQ(CountClips(timing, video), 3);
  EXPECT_THAT(FramesOfClip(timing, video, 2, &random), ElementsAre(2, 2, 3, 3));
}

absl::StatusOr<std::unique_ptr<ClipReader>> OpenHere(int64_t, const char* path,
                                                     absl::string_view bytes) {
  return path != nullptr ? ClipReader::Open(path, 1)
                         : ClipReader::OpenBytes(bytes, 1);
}

// Six videos of 30, 31, ... frames; number 2 is not a video.
std::string Videos() {
  static const std::string& folder = *new std::string([] {
    const std::string made = NewTestFolder();
    for (int i = 0; i < 6; ++i) {
      EncodeOptions options;
      options.width = options.height = kSide;
      options.frames = 30 + i;
      const std::string file =
          i == 2 ? "no video" : EncodeVideo(options, i).value();
      WriteTestFile(made, absl::StrCat(i, ".avi"), file);
    }
    return made;
  }());
  return folder;
}

std::unique_ptr<Source> Files() {
  std::vector<ListedFile> files;
  for (int i = 0; i < 6; ++i) {
    files.push_back({JoinPath(Videos(), absl::StrCat(i, ".avi"))});
  }
  return ListSource(std::move(files));
}

// The same as parts of files, whose bytes the loader reads.
std::unique_ptr<Source> Parts() {
  std::vector<OpenFile> files;
  std::vector<FilePart> parts;
  for (int i = 0; i < 6; ++i) {
    files.push_back(
        OpenForParts(JoinPath(Videos(), absl::StrCat(i, ".avi"))).value());
    parts.push_back(
        {i, "v", 0, static_cast<int64_t>(ReadFile(files[i].path)->size()), i});
  }
  return PartsSource(std::move(files), std::move(parts));
}

ClipSetOptions Options() {
  ClipSetOptions options;
  options.timing.frames = kFrames;
  options.timing.stride = 3;
  options.recipe.crop = kSide;
  options.recipe.format = SampleFormat::kBytePixels;
  return options;
}

absl::StatusOr<std::unique_ptr<Loader>> LoaderOf(std::unique_ptr<Source> videos,
                                                 const ClipSetOptions& options,
                                                 int workers) {
  auto opened = ClipSet::Open(std::move(videos), OpenHere, options);
  if (!opened.ok()) return opened.status();
  LoaderOptions how;
  how.batch_size = 2;
  how.workers = workers;
  how.shuffle = true;
  how.read_ahead.method = ReadMethod::kInline;
  return Loader::Create(std::unique_ptr<MadeSource>(*std::move(opened)), how);
}

// Bytes of the samples of an epoch, by item; and its faults.
std::map<int64_t, std::string> SamplesOf(Loader* loader, int64_t epoch,
                                         std::vector<ItemFault>* faults) {
  std::map<int64_t, std::string> samples;
  auto started = loader->StartShare(0, epoch, {});
  EXPECT_TRUE(started.ok()) << started.status();
  const size_t bytes = loader->shape().bytes();
  while (true) {
    const auto batch = (*started)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || *batch == nullptr) break;
    for (int64_t i = 0; i < (*batch)->size; ++i) {
      samples[(*batch)->items[i]] = {
          reinterpret_cast<const char*>((*batch)->data) + i * bytes, bytes};
    }
  }
  (*started)->Stop();
  *faults = (*started)->faults().all();
  return samples;
}

std::vector<int64_t> NumbersIn(const std::string& sample) {
  std::vector<int64_t> numbers;
  for (int i = 0; i < kFrames; ++i) {
    const char* const frame = sample.data() + 3 * i * kSide * kSide;
    numbers.push_back(
        ReadPattern({reinterpret_cast<const uint8_t*>(frame), kSide, kSide, 3})
            .value_or(-1));
  }
  return numbers;
}

TEST(ClipSetTest, SamplesAreTheSameForAnyNumberOfThreads) {
  std::vector<std::map<int64_t, std::string>> epochs;
  for (const int workers : {0, 1, 3}) {
    for (const bool are_files : {true, false}) {
      const auto loader =
          LoaderOf(are_files ? Files() : Parts(), Options(), workers);
      ASSERT_TRUE(loader.ok()) << loader.status();
      std::vector<ItemFault> faults;
      epochs.push_back(SamplesOf(loader->get(), 1, &faults));
      ASSERT_EQ(faults.size(), 1);
      EXPECT_EQ(faults[0].item, 2);
      EXPECT_THAT(faults[0].name, HasSubstr("2.avi"));
      EXPECT_EQ(epochs.back(), epochs.front());
    }
  }
  // Video 3 took the place of number 2.
  ASSERT_EQ(epochs[0].size(), 5);
  for (const auto& [item, sample] : epochs[0]) {
    const std::vector<int64_t> numbers = NumbersIn(sample);
    EXPECT_GE(numbers[0], 0);
    for (int i = 1; i < kFrames; ++i) {
      EXPECT_EQ(numbers[i], numbers[0] + 3 * i) << item;
    }
  }
}

TEST(ClipSetTest, AllFramesHaveTheSameWindow) {
  ClipSetOptions options = Options();
  options.timing.sampling = ClipSampling::kUniform;
  options.recipe.crop = 31;
  RecipeStep flip;
  flip.one_of.emplace_back();
  flip.one_of[0].native_op = "cv::flip";
  flip.one_of[0].params = {"flip_code=1"};
  flip.probability = 0.5;
  options.recipe.steps = {flip};
  const auto loader = LoaderOf(Files(), options, 1);
  ASSERT_TRUE(loader.ok()) << loader.status();
  std::vector<ItemFault> faults;
  std::set<std::tuple<int, int, bool>> windows;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const auto samples = SamplesOf(loader->get(), epoch, &faults);
    const auto reader =
        ClipReader::Open(JoinPath(Videos(), "4.avi"), 1).value();
    std::vector<uint8_t> whole(kFrames * reader->FrameBytes());
    ASSERT_TRUE(reader->Read({0, 11, 22, 33}, whole.data()).ok());
    const auto* const found =
        reinterpret_cast<const uint8_t*>(samples.at(4).data());
    // One window of the whole frames, mirrored or not, has all of them.
    int places = 0;
    for (int y = 0; y <= kSide - 31; ++y) {
      for (int x = 0; x <= kSide - 31; ++x) {
        for (const bool mirrored : {false, true}) {
          bool same = true;
          for (int i = 0; same && i < kFrames * 31 * 31; ++i) {
            const int frame = i / (31 * 31), row = i / 31 % 31;
            const int column = mirrored ? 30 - i % 31 : i % 31;
            same = std::memcmp(&found[3 * i],
                               &whole[frame * reader->FrameBytes() +
                                      3 * ((y + row) * kSide + x + column)],
                               3) == 0;
          }
          if (!same) continue;
          ++places;
          windows.insert({y, x, mirrored});
        }
      }
    }
    EXPECT_EQ(places, 1);
  }
  EXPECT_GT(windows.size(), 2);
}

TEST(ClipSetTest, DenseClipsNeedVideosThatCanBeOpened) {
  ClipSetOptions options = Options();
  options.timing.sampling = ClipSampling::kDense;
  const auto set = ClipSet::Open(Parts(), OpenHere, options);
  ASSERT_TRUE(set.ok()) << set.status();
  // Of 30 to 35 frames; a clip spans ten, and the next begins after twelve.
  EXPECT_EQ((*set)->size(), 2 + 2 + 2 + 3 + 3);
  EXPECT_THAT((*set)->left_out(),
              AllOf(HasSubstr("1 video "), HasSubstr("2.avi")));
  EXPECT_EQ((*set)->VideoOf(4), 3);
  EXPECT_EQ((*set)->label(4), 3);
  EXPECT_EQ((*set)->Replacement(3, 1), 5);
  options.fail = true;
  EXPECT_THAT(ClipSet::Open(Parts(), OpenHere, options).status().message(),
              HasSubstr("2.avi"));
}

TEST(ClipSetTest, ResizesBeforeTheCrop) {
  constexpr int kHalf = kSide / 2;
  ClipSetOptions options = Options();
  options.timing.sampling = ClipSampling::kConsecutive;
  options.timing.stride = 1;
  options.recipe.resize = options.recipe.crop = kHalf;
  const auto loader = LoaderOf(Files(), options, 1);
  ASSERT_TRUE(loader.ok()) << loader.status();
  std::vector<ItemFault> faults;
  const std::string sample = SamplesOf(loader->get(), 0, &faults).at(0);
  const auto reader = ClipReader::Open(JoinPath(Videos(), "0.avi"), 1).value();
  std::vector<uint8_t> whole(kFrames * reader->FrameBytes());
  // The middle of 30 frames.
  ASSERT_TRUE(reader->Read({13, 14, 15, 16}, whole.data()).ok());
  Resampler resampler(kHalf, kHalf, ResampleFilter::kBilinear,
                      {0, 0, kHalf, kHalf});
  resampler.Plan(kSide, kSide);
  std::string wanted(sample.size(), '\0');
  constexpr int kBytes = kHalf * kHalf * 3;
  ASSERT_EQ(sample.size(), kFrames * kBytes);
  for (int i = 0; i < kFrames; ++i) {
    resampler.Run(&whole[i * reader->FrameBytes()], 3 * kSide,
                  reinterpret_cast<uint8_t*>(&wanted[i * kBytes]), 3 * kHalf);
  }
  EXPECT_TRUE(sample == wanted);
  options.recipe.crop = kHalf + 1;
  EXPECT_THAT(ClipSet::Open(Files(), OpenHere, options).status().message(),
              HasSubstr("resize=48"));
}

}  // namespace
}  // namespace feedrate
