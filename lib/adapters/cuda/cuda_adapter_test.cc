// The adapter on a GPU: every entry of configs/transforms/ compared with the
// host, batches, timing, and running out of memory. Runs wherever there is a
// configs/ folder, in a bundle or a checkout.
#include "lib/adapters/cuda/cuda_adapter.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/timing.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/small_corpus.h"
#include "lib/ops/cuda/testing/run_on_host.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;

class CudaAdapterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(found);
    }
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major < 9) {
      GTEST_SKIP() << "compute capability " << major
                   << ".x; some kernels need 9.0";
    }
  }

  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const std::string& op, const std::vector<std::string>& params,
      int64_t batch) {
    PrepareCommand spec;
    spec.set_device("cuda");
    spec.set_native_op(op);
    *spec.mutable_params() = {params.begin(), params.end()};
    spec.set_batch(batch);
    return adapter_.Prepare(spec, corpus_);
  }

  CudaAdapter adapter_;
  // Rows are unaligned, and one image is larger than a block's tile.
  Corpus corpus_ = SmallCorpus(
      std::vector<ItemSize>{{1, 60, 80, 3}, {1, 37, 53, 3}, {1, 250, 233, 3}});
};

std::string Shown(PreparedTransform* transform, int64_t item, uint64_t seed) {
  transform->Seed(seed);
  const absl::StatusOr<Output> output = transform->RunForOutput(item);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return "";
  return std::string(static_cast<const char*>(output->data), output->bytes);
}

// Number of bytes in which two outputs differ; all of them if the sizes differ.
// Rounding may go the other way at a half.
int64_t Differences(const std::string& a, const std::string& b, int at_most) {
  if (a.size() != b.size()) return static_cast<int64_t>(a.size() + b.size());
  int64_t differ = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference =
        std::abs(static_cast<uint8_t>(a[i]) - static_cast<uint8_t>(b[i]));
    if (difference > at_most) return static_cast<int64_t>(a.size());
    differ += difference != 0;
  }
  return differ;
}

TEST_F(CudaAdapterTest, EveryEntryIsWhatTheHostMakes) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  const TransformSet& set =
      **catalogue.Transforms(*catalogue.FindScenario("image-rgb"));
  int entries = 0;
  for (const Transform& transform : set.transforms()) {
    // Transforms of whole batches, which only loaders make.
    if (transform.set() == "training") continue;
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "cuda") continue;
      SCOPED_TRACE(absl::StrCat(transform.name(), " ", entry.params_profile()));
      const TransformSpec spec = CudaSpecOf(transform, entry);
      const absl::StatusOr<FusedOp> op = MakeFusedOp(spec);
      const auto prepared = Prepare(spec.native_op, spec.params, 0);
      ASSERT_TRUE(op.ok() && prepared.ok()) << prepared.status();
      ++entries;
      for (int64_t item = 0; item < corpus_.size(); ++item) {
        const std::string expected = BytesOfImage(
            RunOnHost(*op, HostImageOf(corpus_.item(item)), /*seed=*/7));
        const std::string actual = Shown(prepared->get(), item, /*seed=*/7);
        EXPECT_LE(Differences(actual, expected, 1),
                  static_cast<int64_t>(expected.size() / 50))
            << "image " << item;
      }
    }
  }
  EXPECT_EQ(entries, 52);
}

TEST_F(CudaAdapterTest, ACallTakesImagesOfAnySizes) {
  const auto transform = Prepare("flip", {"axis=horizontal"}, 4);
  ASSERT_TRUE(transform.ok()) << transform.status();
  TimingPlan plan;
  plan.count = 10;
  plan.chunk = 4;
  plan.num_items = 3;
  const TimeReply reply =
      TimeOnDevice(plan, /*cold=*/true, transform->get(), nullptr);
  EXPECT_EQ(reply.items(), 10);
  EXPECT_THAT(reply.samples_s(), ElementsAre(Gt(0), Gt(0), Gt(0)));
  int64_t bytes = 0;
  for (int64_t i = 0; i < 10; ++i) bytes += corpus_.item(i % 3).bytes;
  EXPECT_EQ(reply.device().bytes_in(), bytes);
  EXPECT_EQ(reply.device().bytes_out(), bytes);
  EXPECT_GT(reply.device().peak_allocated_bytes(), bytes / 4);
  // Less than the memory for flushing L2, which does not count.
  EXPECT_LT(reply.device().peak_allocated_bytes(), int64_t{100} << 20);
}

TEST_F(CudaAdapterTest, DrawsAreThoseOfTheSeed) {
  const auto transform =
      Prepare("affine", {"degrees=U(-30,30)", "scale=U(0.8,1.2)"}, 0);
  ASSERT_TRUE(transform.ok()) << transform.status();
  const std::string first = Shown(transform->get(), 2, 5);
  EXPECT_EQ(Shown(transform->get(), 2, 5), first);
  EXPECT_NE(Shown(transform->get(), 2, 6), first);
}

TEST_F(CudaAdapterTest, WhatDoesNotFitIsSaidAndLeavesNothing) {
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_TRUE(Prepare("flip", {"axis=horizontal"}, 1).ok());
  cudaMemGetInfo(&before, &total);
  // Outputs of 175 kB, twice as many as the device holds.
  const auto batch = static_cast<int64_t>(2 * total / (250 * 233 * 3));
  const absl::Status status =
      Prepare("flip", {"axis=horizontal"}, batch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("CUDA out of memory: "), HasSubstr("GiB asked"),
                    HasSubstr(" outputs"), HasSubstr("free")));
  cudaMemGetInfo(&after, &total);
  EXPECT_GE(after + (size_t{64} << 20), before);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_TRUE(Prepare("flip", {"axis=horizontal"}, 1).ok());
}

}  // namespace
}  // namespace feedrate
