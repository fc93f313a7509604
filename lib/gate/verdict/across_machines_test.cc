#include "lib/gate/verdict/across_machines.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/base/xoshiro.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// Speeds of `cpu`, `simd`, `memory` and `disk`.
ReferenceSpeeds ReferenceOf(const std::string& profile,
                            const std::vector<double>& speeds) {
  ReferenceSpeeds reference;
  reference.set_machine_profile(profile);
  const char* const names[] = {"cpu", "simd", "memory", "disk"};
  for (size_t i = 0; i < speeds.size(); ++i) {
    ReferenceWorkload* workload = reference.add_workloads();
    workload->set_workload(names[i]);
    for (const double factor : {0.99, 1.0, 1.01}) {
      workload->add_per_s(speeds[i] * factor);
    }
  }
  return reference;
}

// Five runs of each of `jobs` jobs. Job i has `factor(i)` times its usual
// speed.
template <typename Factor>
std::vector<Row> RowsOf(const std::string& profile, int jobs, Factor factor,
                        uint64_t seed) {
  Xoshiro256 random(seed);
  std::vector<Row> rows;
  for (int i = 0; i < jobs; ++i) {
    for (int run = 0; run < 5; ++run) {
      Row row;
      row.set_job_id(absl::StrCat("job", i));
      row.set_mode("micro");
      row.set_library("lib");
      row.set_transform(absl::StrCat("T", i));
      row.set_device("cpu");
      row.set_unit("image");
      row.set_status("ok");
      row.set_machine_profile(profile);
      row.set_run_index(run);
      row.set_throughput((100 + i) * factor(i) *
                         std::exp(0.005 * random.Normal()));
      rows.push_back(row);
    }
  }
  return rows;
}

class AcrossMachinesTest : public testing::Test {
 protected:
  AcrossMachinesTest()
      : folder_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    EXPECT_TRUE(MakeFolder(folder_).ok());
    Tolerance* tolerance = options_.tolerances.add_tolerances();
    tolerance->set_metric("throughput");
    tolerance->set_better(HIGHER);
    tolerance->set_percent(5);
  }

  void Store(const std::string& profile, const std::vector<Row>& rows,
             const ReferenceSpeeds& reference) {
    std::string text;
    AppendRecord(reference, &text);
    for (const Row& row : rows) AppendRecord(row, &text);
    ASSERT_TRUE(WriteFileAtomically(
                    absl::StrCat(folder_, "/", profile, ".rows.jsonl"), text)
                    .ok());
  }

  AcrossMachines Compare(const std::vector<Row>& rows,
                         const std::vector<ReferenceSpeeds>& references) {
    const BaselineStore store(folder_);
    const absl::StatusOr<AcrossMachines> result =
        CompareAcrossMachines(rows, references, store, options_);
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }

  // Jobs by verdict.
  static std::map<std::string, int> Count(const AcrossMachines& result) {
    std::map<std::string, int> counts;
    for (const Verdict& verdict : result.verdicts) ++counts[verdict.verdict()];
    return counts;
  }

  const std::string folder_;
  RuleOptions options_;
};

double Usual(int) { return 1; }
double Half(int) { return 0.5; }

TEST_F(AcrossMachinesTest, AMachineOfHalfTheSpeedIsNoRegression) {
  Store("m1", RowsOf("m1", 20, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  const AcrossMachines result =
      Compare(RowsOf("m2", 20, Half, 2), {ReferenceOf("m2", {5, 5, 5, 1})});
  EXPECT_EQ(Count(result)["same"], 20) << result.note;
  EXPECT_NE(result.note.find("cannot be told apart"), std::string::npos);
  for (const Verdict& verdict : result.verdicts) {
    EXPECT_TRUE(verdict.has_floor_percent());
    // The disk is no part of jobs on data in memory.
    EXPECT_NE(verdict.reason().find("workloads cpu, memory, simd;"),
              std::string::npos)
        << verdict.reason();
  }
}

TEST_F(AcrossMachinesTest, OneJobThatGotSlowerIsFound) {
  Store("m1", RowsOf("m1", 20, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  const auto slow = [](int i) { return i == 7 ? 0.35 : 0.5; };
  const AcrossMachines result =
      Compare(RowsOf("m2", 20, slow, 2), {ReferenceOf("m2", {5, 5, 5, 1})});
  EXPECT_EQ(Count(result)["slower"], 1);
  for (const Verdict& verdict : result.verdicts) {
    EXPECT_EQ(verdict.verdict() == "slower", verdict.job_id() == "job7");
  }
}

TEST_F(AcrossMachinesTest, AChangeOfAllJobsIsToldButNotJudged) {
  Store("m1", RowsOf("m1", 20, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  const auto slow = [](int) { return 0.8; };
  const AcrossMachines result =
      Compare(RowsOf("m2", 20, slow, 2), {ReferenceOf("m2", {10, 10, 10, 9})});
  EXPECT_EQ(Count(result)["slower"], 0);
  EXPECT_NE(result.note.find("% slower than the reference"), std::string::npos)
      << result.note;
}

TEST_F(AcrossMachinesTest, AFewJobsRestOnTheReferencesAlone) {
  Store("m1", RowsOf("m1", 2, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  const AcrossMachines same =
      Compare(RowsOf("m2", 2, Half, 2), {ReferenceOf("m2", {5, 5, 5, 1})});
  EXPECT_EQ(Count(same)["same"], 2);
  EXPECT_NE(same.note.find("fewer than 10 jobs"), std::string::npos);
  const AcrossMachines half =
      Compare(RowsOf("m2", 2, Half, 2), {ReferenceOf("m2", {10, 10, 10, 9})});
  EXPECT_EQ(Count(half)["slower"], 2);
}

TEST_F(AcrossMachinesTest, ReferencesThatDisagreeMakeItUncertain) {
  Store("m1", RowsOf("m1", 2, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  const AcrossMachines result =
      Compare(RowsOf("m2", 2, Half, 2), {ReferenceOf("m2", {5, 20, 10, 9})});
  EXPECT_EQ(Count(result)["cannot_tell"], 2);
}

TEST_F(AcrossMachinesTest, SaysWhatIsMissing) {
  Store("m1", RowsOf("m1", 2, Usual, 1), ReferenceOf("m1", {}));
  const std::vector<Row> rows = RowsOf("m2", 2, Half, 2);
  AcrossMachines result = Compare(rows, {});
  EXPECT_EQ(Count(result)["invalid"], 2);
  EXPECT_NE(result.verdicts[0].reason().find("collect_env --reference_speeds"),
            std::string::npos);
  result = Compare(rows, {ReferenceOf("m2", {5, 5, 5, 1})});
  EXPECT_EQ(result.verdicts[0].codes(0), "no_reference");
  Store("m1", RowsOf("m1", 1, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  result = Compare(rows, {ReferenceOf("m2", {5, 5, 5, 1})});
  EXPECT_EQ(Count(result)["invalid"], 1);
}

TEST_F(AcrossMachinesTest, NoisyAndFailedRunsAreNotCompared) {
  Store("m1", RowsOf("m1", 2, Usual, 1), ReferenceOf("m1", {10, 10, 10, 9}));
  std::vector<Row> rows = RowsOf("m2", 2, Half, 2);
  for (Row& row : rows) {
    if (row.job_id() == "job0") row.add_warnings("noisy");
  }
  rows.back().set_status("crashed");
  const AcrossMachines result =
      Compare(rows, {ReferenceOf("m2", {10, 10, 10, 9})});
  EXPECT_EQ(Count(result)["cannot_tell"], 1);
  EXPECT_EQ(Count(result)["invalid"], 1);
}

}  // namespace
}  // namespace feedrate
