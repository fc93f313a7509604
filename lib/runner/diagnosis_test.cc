#include "lib/runner/diagnosis.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::vector<LoaderAblation> Ablations(double cached, double no_augment,
                                      double no_decode) {
  std::vector<LoaderAblation> ablations;
  for (const auto& [name, throughput] :
       std::vector<std::pair<std::string, double>>{{"cached_batch", cached},
                                                   {"no_augment", no_augment},
                                                   {"no_decode", no_decode}}) {
    if (throughput == 0) continue;
    ablations.emplace_back().set_name(name);
    ablations.back().set_throughput(throughput);
  }
  return ablations;
}

LoaderSpec SpecOf(const std::string& scope) {
  LoaderSpec spec;
  spec.scope = scope;
  return spec;
}

void AddStage(const std::string& name, double busy_s, LoaderStats* loader) {
  LoaderStage* const stage = loader->add_stages();
  stage->set_name(name);
  stage->set_busy_s(busy_s);
}

TEST(DiagnosisTest, TheDearestPartIsTheVerdict) {
  // 10 ms an item, of which 8 go into decoding and 1 into the transform.
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), 100, Ablations(10000, 1000 / 9.0, 500),
               LoaderStats());
  EXPECT_EQ(diagnosis.verdict(), "decoding");
  EXPECT_NEAR(diagnosis.twice_as_fast_gain(), 1 / 0.6, 1e-9);
  EXPECT_THAT(diagnosis.explanation(), HasSubstr("takes 80% of the time"));
  EXPECT_EQ(diagnosis.ablations_size(), 3);
}

TEST(DiagnosisTest, AugmentingAndCollating) {
  EXPECT_EQ(Diagnose(SpecOf(kMemoryScope), 100, Ablations(10000, 500, 0),
                     LoaderStats())
                .verdict(),
            "augmenting");
  EXPECT_EQ(
      Diagnose(SpecOf(kMemoryScope), 100, Ablations(110, 105, 0), LoaderStats())
          .verdict(),
      "collating");
}

TEST(DiagnosisTest, StagesTellReadingAndCopying) {
  LoaderStats loader;
  AddStage("read", 5, &loader);
  AddStage("decode", 1, &loader);
  AddStage("copy", 3, &loader);
  AddStage("collate", 1, &loader);
  EXPECT_EQ(
      Diagnose(SpecOf(kDecodeScope), 100, Ablations(10000, 101, 500), loader)
          .verdict(),
      "reading");
  EXPECT_EQ(Diagnose(SpecOf(kCopyScope), 100, Ablations(110, 101, 102), loader)
                .verdict(),
            "copying");
}

TEST(DiagnosisTest, ABusyAcceleratorIsNoLoadersFault) {
  LoaderStats loader;
  loader.set_consumer_utilisation(0.95);
  const LoaderDiagnosis diagnosis =
      Diagnose(SpecOf(kDecodeScope), 100, Ablations(10000, 120, 500), loader);
  EXPECT_EQ(diagnosis.verdict(), "consumer");
  EXPECT_NEAR(diagnosis.twice_as_fast_gain(), 1 / 0.525, 1e-9);
}

TEST(DiagnosisTest, NothingMeasuredIsNoVerdict) {
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), 100, {}, LoaderStats()).verdict(),
            "");
  EXPECT_EQ(Diagnose(SpecOf(kDecodeScope), 0, Ablations(1, 1, 1), LoaderStats())
                .verdict(),
            "");
}

}  // namespace
}  // namespace feedrate
