// Every entry of configs/transforms/ for the library torch, on two small
// images: an output of the right shape, the same for the same seed, and
// different from the input. Also the code path for GPUs, with the CPU as the
// device.
#include "lib/adapters/torch/torch_adapter.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/cell_checks.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/files.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/small_corpus.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

// Two small images in the layout that torch needs.
Corpus Planes(int channels) {
  return ConvertCorpus(SmallCorpus(channels), {DType::kUint8, Layout::kChw, 0},
                       1)
      .value();
}

class CellsTest : public ::testing::Test {
 protected:
  // Tries every entry of a profile; returns how many there are for `scenario`.
  int TryAll(const std::string& profile, const std::string& scenario,
             int channels) {
    const Corpus corpus = Planes(channels);
    const std::string lines =
        ReadFile("lib/adapters/torch/entries_" + profile + ".jsonl").value();
    int count = 0;
    for (absl::string_view line : absl::StrSplit(lines, '\n')) {
      if (line.empty()) continue;
      const PrepareCommand spec = ParseChildCommand(line).value().prepare();
      if (spec.scenario() != scenario) continue;
      SCOPED_TRACE(absl::StrCat(scenario, " ", spec.transform(), " ", profile));
      TryOne(spec, corpus);
      ++count;
    }
    return count;
  }

  void TryOne(const PrepareCommand& spec, const Corpus& corpus) {
    const auto prepared = adapter_.Prepare(spec, corpus);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    for (int64_t item = 0; item < corpus.size(); ++item) {
      CheckCell(spec.transform(), "CHW", corpus.item(item), item,
                prepared->get());
    }
  }

  TorchAdapter adapter_;
};

TEST_F(CellsTest, ThreeChannels) {
  EXPECT_EQ(TryAll("paper", "image-rgb", 3), 42);
  EXPECT_GE(TryAll("matched", "image-rgb", 3), 30);
}

TEST_F(CellsTest, NineChannels) {
  EXPECT_EQ(TryAll("paper", "image-9ch", 9), 35);
  EXPECT_GE(TryAll("matched", "image-9ch", 9), 25);
}

TEST_F(CellsTest, ThreadsAreAsTold) {
  const Corpus corpus = Planes(3);
  PrepareCommand spec;
  spec.set_native_op("at::bitwise_not");
  spec.set_torch_intra_op(1);
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 1);
  spec.set_torch_intra_op(2);
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 2);
  spec.set_device("cuda");
  EXPECT_FALSE(adapter_.Prepare(spec, corpus).ok());
}

TEST_F(CellsTest, OtherLayoutsAreRefused) {
  PrepareCommand spec;
  spec.set_native_op("at::bitwise_not");
  EXPECT_EQ(adapter_.Prepare(spec, SmallCorpus(3)).status().message(),
            "torch needs a corpus of uint8 CHW");
}

TEST_F(CellsTest, WhatItDoesNotUnderstandIsAnError) {
  const Corpus corpus = Planes(3);
  const auto error = [&](const std::string& op,
                         const std::vector<std::string>& params,
                         const std::string& wrap = "") {
    PrepareCommand spec;
    spec.set_transform("T");
    spec.set_native_op(op);
    *spec.mutable_params() = {params.begin(), params.end()};
    spec.set_wrap(wrap);
    return std::string(adapter_.Prepare(spec, corpus).status().message());
  };
  EXPECT_EQ(error("at::dance", {}),
            "T: the torch adapter has no operation at::dance");
  EXPECT_EQ(error("at::flip", {"dims=(-1)", "p=1"}),
            "T: at::flip: parameter p=1 is not known to this operation");
  EXPECT_EQ(error("at::pow", {}), "T: at::pow: parameter gamma is missing");
  EXPECT_EQ(error("at::bitwise_not", {}, "twice"),
            "T: the torch adapter knows no wrap \"twice\"");
}

constexpr ItemSize kSize = {1, 30, 40, 3};
constexpr int64_t kBytes = int64_t{3} * 30 * 40;

Corpus PlanesOf(const std::vector<ItemSize>& sizes) {
  return ConvertCorpus(SmallCorpus(sizes), {DType::kUint8, Layout::kChw, 0}, 1)
      .value();
}

// The CPU as a device that records the calls.
class CountingProbe : public HostProbe {
 public:
  explicit CountingProbe(std::vector<std::string>* log) : log_(log) {}
  void Flush() override { log_->push_back("flush"); }
  void Begin() override { log_->push_back("begin"); }
  double End() override {
    log_->push_back("end");
    return 0.5;
  }

 private:
  std::vector<std::string>* const log_;
};

class TorchImagesTest : public ::testing::Test {
 protected:
  TorchImagesTest()
      : adapter_([this] { return std::make_unique<CountingProbe>(&log_); },
                 "cpu") {}

  std::unique_ptr<PreparedTransform> Prepare(
      const std::string& op, const std::vector<std::string>& params,
      int64_t batch, const Corpus& corpus) {
    PrepareCommand spec;
    spec.set_device("cuda");
    spec.set_native_op(op);
    *spec.mutable_params() = {params.begin(), params.end()};
    spec.set_batch(batch);
    absl::StatusOr<std::unique_ptr<PreparedTransform>> prepared =
        adapter_.Prepare(spec, corpus);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    return prepared.ok() ? std::move(*prepared) : nullptr;
  }

  static TimeReply Time(int64_t count, int64_t chunk, int64_t num_items,
                        PreparedTransform* transform) {
    TimingPlan plan;
    plan.count = count;
    plan.chunk = chunk;
    plan.num_items = num_items;
    return TimeOnDevice(plan, /*cold=*/true, transform, nullptr);
  }

  std::vector<std::string> log_;
  TorchAdapter adapter_;
};

const std::vector<std::string> kFlip = {"dims=(-1)"};

TEST_F(TorchImagesTest, ABatchIsOneCallOnOneTensor) {
  const Corpus corpus = PlanesOf({kSize, kSize, kSize, kSize});
  const auto transform = Prepare("at::flip", kFlip, 2, corpus);
  ASSERT_NE(transform, nullptr);
  EXPECT_FALSE(transform->per_sample_loop());
  const TimeReply reply = Time(4, 2, 4, transform.get());
  EXPECT_EQ(reply.items(), 4);
  EXPECT_THAT(reply.samples_s(), ElementsAre(0.5, 0.5));
  EXPECT_EQ(reply.device().bytes_in(), 4 * kBytes);
  EXPECT_EQ(reply.device().bytes_out(), 4 * kBytes);
  EXPECT_THAT(log_,
              ElementsAre("flush", "begin", "end", "flush", "begin", "end"));
}

TEST_F(TorchImagesTest, BatchesGoRoundTheItems) {
  const Corpus corpus = PlanesOf({kSize, kSize, kSize});
  for (const int64_t batch : {2, 5}) {
    const auto transform = Prepare("at::flip", kFlip, batch, corpus);
    ASSERT_NE(transform, nullptr);
    const TimeReply reply = Time(10, batch, 3, transform.get());
    EXPECT_EQ(reply.items(), 10);
    EXPECT_EQ(reply.device().bytes_out(), 10 * kBytes) << batch;
    // Not from the start, and wrapping around a part of the items.
    EXPECT_EQ(Time(10, batch, 2, transform.get()).device().bytes_out(),
              10 * kBytes)
        << batch;
  }
}

TEST_F(TorchImagesTest, OutputsOfBatchesAreThoseOfImages) {
  const Corpus corpus = PlanesOf({kSize, kSize, kSize});
  const auto one = Prepare("at::flip", kFlip, 0, corpus);
  const auto many = Prepare("at::flip", kFlip, 3, corpus);
  for (int64_t item = 0; item < 3; ++item) {
    const absl::StatusOr<Output> a = one->RunForOutput(item);
    const absl::StatusOr<Output> b = many->RunForOutput(item);
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    EXPECT_THAT(b->shape, ElementsAre(3, 30, 40));
    EXPECT_EQ(std::memcmp(a->data, b->data, kBytes), 0) << item;
  }
}

TEST_F(TorchImagesTest, WhatMakesNoBatchGoesOneByOne) {
  const Corpus corpus = PlanesOf({kSize, {1, 20, 10, 3}});
  const auto sizes = Prepare("at::flip", kFlip, 2, corpus);
  ASSERT_NE(sizes, nullptr);
  EXPECT_TRUE(sizes->per_sample_loop());
  // Bytes of each image, not of the last one.
  const TimeReply reply = Time(2, 2, 2, sizes.get());
  EXPECT_EQ(reply.device().bytes_out(), kBytes + 3 * 20 * 10);
  EXPECT_EQ(reply.device().bytes_in(), kBytes + 3 * 20 * 10);
  EXPECT_FALSE(Prepare("at::flip", kFlip, 0, corpus)->per_sample_loop())
      << "no batch was asked for";
  const Corpus same = PlanesOf({kSize, kSize});
  EXPECT_TRUE(Prepare("at::rot90+at::contiguous",
                      {"k=uniform(0,3)", "dims=(-2,-1)"}, 2, same)
                  ->per_sample_loop());
  EXPECT_FALSE(
      Prepare("at::rot90+at::contiguous", {"k=1", "dims=(-2,-1)"}, 2, same)
          ->per_sample_loop());
}

}  // namespace
}  // namespace feedrate
