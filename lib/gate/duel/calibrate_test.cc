#include "lib/gate/duel/calibrate.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/duel/duel.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

std::vector<Verdict> One(const std::string& word) {
  std::vector<Verdict> verdicts(1);
  verdicts[0].set_job_id("j");
  verdicts[0].set_verdict(word);
  return verdicts;
}

TEST(CalibrateTest, CountsAlarmsAndFinds) {
  std::vector<Calibration> calibrations;
  AddVerdicts(One("same"), 0, &calibrations);
  AddVerdicts(One("slower"), 0, &calibrations);
  AddVerdicts(One("cannot_tell"), 2, &calibrations);
  AddVerdicts(One("same"), 2, &calibrations);
  AddVerdicts(One("slower"), 5, &calibrations);
  AddVerdicts(One("invalid"), 5, &calibrations);
  ASSERT_EQ(calibrations.size(), 1);
  EXPECT_EQ(calibrations[0].clean_duels(), 2);
  EXPECT_EQ(calibrations[0].false_alarms(), 1);
  ASSERT_EQ(calibrations[0].points_size(), 2);
  EXPECT_EQ(calibrations[0].points(0).missed(), 1);
  EXPECT_EQ(calibrations[0].points(1).duels(), 1);
  SetFloor(&calibrations[0]);
  EXPECT_EQ(calibrations[0].floor_percent(), 5);
  EXPECT_NE(CalibrationText(calibrations).find("detects changes from 5%"),
            std::string::npos);
}

TEST(CalibrateTest, AFloorNeedsAllThatIsLarger) {
  Calibration calibration;
  for (const int found : {10, 3, 9}) {
    CalibrationPoint* point = calibration.add_points();
    point->set_slowdown_percent(calibration.points_size());
    point->set_duels(10);
    point->set_found(found);
  }
  SetFloor(&calibration);
  EXPECT_EQ(calibration.floor_percent(), 3);
  calibration.mutable_points(2)->set_found(8);
  SetFloor(&calibration);
  EXPECT_FALSE(calibration.has_floor_percent());
}

TEST(CalibrateTest, RunsRealDuelsAndSlowsThemDown) {
  CalibrationOptions options;
  options.duel.a = "sleep 0.004";
  // A few pairs may be disturbed.
  options.duel.looks = {30};
  options.duel.timing = DuelTiming::kWall;
  options.duel.warmup = 0;
  options.duels = 1;
  // Large enough to be detected on a busy machine.
  options.slowdowns_percent = {900};
  const auto result = Calibrate(options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->calibrations.size(), 1);
  EXPECT_EQ(result->calibrations[0].clean_duels(), 1);
  EXPECT_EQ(result->calibrations[0].points(0).found(), 1);
  EXPECT_EQ(result->calibrations[0].floor_percent(), 900);
}

TEST(CalibrateTest, ACommandThatFailsIsToldAsSuch) {
  CalibrationOptions options;
  options.duel.a = "exit 3";
  options.duels = 1;
  const auto result = Calibrate(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kRunFailed);
  EXPECT_EQ(result->failure, "A failed: exit code 3");
}

}  // namespace
}  // namespace feedrate
