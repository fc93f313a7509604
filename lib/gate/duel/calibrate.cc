#include "lib/gate/duel/calibrate.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// Share of the duels that must detect a slowdown.
constexpr double kFound = 0.9;
// Share of an injected slowdown that must be measured for the program to count
// as slowed down at all.
constexpr double kHonored = 0.3;

Calibration* CalibrationOf(const Verdict& verdict,
                           std::vector<Calibration>* calibrations) {
  for (Calibration& calibration : *calibrations) {
    if (calibration.job_id() == verdict.job_id()) return &calibration;
  }
  calibrations->emplace_back();
  Calibration& added = calibrations->back();
  added.set_job_id(verdict.job_id());
  added.set_job(verdict.job());
  added.set_machine_profile(verdict.machine_profile());
  return &added;
}

CalibrationPoint* PointOf(double slowdown, Calibration* calibration) {
  for (CalibrationPoint& point : *calibration->mutable_points()) {
    if (point.slowdown_percent() == slowdown) return &point;
  }
  CalibrationPoint* point = calibration->add_points();
  point->set_slowdown_percent(slowdown);
  return point;
}

absl::Status CheckHonored(const std::vector<Calibration>& calibrations) {
  for (const Calibration& calibration : calibrations) {
    if (calibration.points().empty()) continue;
    const CalibrationPoint& largest = *calibration.points().rbegin();
    if (largest.slowdown_percent() < 5) continue;
    if (largest.median_effect_percent() <
        kHonored * largest.slowdown_percent()) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "--calibrate: %s did not slow down by %g%% when asked to (%+.1f%% "
          "was seen); a program that prints rows has to honor %s, see "
          "lib/base/injected_slowdown.h, or use --time=wall",
          calibration.job(), largest.slowdown_percent(),
          largest.median_effect_percent(), kSlowdownVariable));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddVerdicts(const std::vector<Verdict>& verdicts, double slowdown_percent,
                 std::vector<Calibration>* calibrations) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.verdict() == "invalid") continue;
    Calibration* calibration = CalibrationOf(verdict, calibrations);
    const bool slower = verdict.verdict() == "slower";
    const bool faster = verdict.verdict() == "faster";
    if (slowdown_percent == 0) {
      calibration->set_clean_duels(calibration->clean_duels() + 1);
      if (slower || faster) {
        calibration->set_false_alarms(calibration->false_alarms() + 1);
      }
      continue;
    }
    CalibrationPoint* point = PointOf(slowdown_percent, calibration);
    point->set_duels(point->duels() + 1);
    if (slower) point->set_found(point->found() + 1);
    if (faster || verdict.verdict() == "same") {
      point->set_missed(point->missed() + 1);
    }
  }
}

void SetFloor(Calibration* calibration) {
  calibration->clear_floor_percent();
  for (int i = calibration->points_size() - 1; i >= 0; --i) {
    const CalibrationPoint& point = calibration->points(i);
    if (point.duels() == 0 || point.found() < kFound * point.duels()) return;
    calibration->set_floor_percent(point.slowdown_percent());
  }
}

absl::StatusOr<CalibrationResult> Calibrate(const CalibrationOptions& options) {
  CalibrationResult result;
  std::vector<double> slowdowns = {0};
  slowdowns.insert(slowdowns.end(), options.slowdowns_percent.begin(),
                   options.slowdowns_percent.end());
  std::map<std::pair<std::string, double>, std::vector<double>> effects;
  // In rounds, so that slow phases of the machine affect all slowdowns equally.
  for (int round = 0; round < options.duels; ++round) {
    for (const double slowdown : slowdowns) {
      DuelOptions duel = options.duel;
      duel.b = duel.a;
      duel.slow_b_percent = slowdown;
      duel.seed = options.duel.seed + 1000 * round +
                  static_cast<uint64_t>(10 * slowdown);
      duel.write = [](const google::protobuf::Message&) {
        return absl::OkStatus();
      };
      if (options.duel.progress) {
        duel.progress = [&](const std::string& what) {
          options.duel.progress(
              absl::StrFormat("round %d of %d, %g%% slower: %s", round + 1,
                              options.duels, slowdown, what));
        };
      }
      ASSIGN_OR_RETURN(const DuelResult one, RunDuel(duel));
      if (one.exit_code != ExitCode::kDone) {
        result.exit_code = one.exit_code;
        result.failure = one.failure;
        return result;
      }
      AddVerdicts(one.verdicts, slowdown, &result.calibrations);
      for (const Verdict& verdict : one.verdicts) {
        effects[{verdict.job_id(), slowdown}].push_back(
            verdict.effect().percent());
      }
    }
  }
  for (Calibration& calibration : result.calibrations) {
    for (CalibrationPoint& point : *calibration.mutable_points()) {
      point.set_median_effect_percent(
          Median(effects[{calibration.job_id(), point.slowdown_percent()}]));
    }
    SetFloor(&calibration);
    calibration.set_calibrated_at(options.calibrated_at);
    calibration.set_command(options.duel.a);
  }
  RETURN_IF_ERROR(CheckHonored(result.calibrations));
  return result;
}

std::string CalibrationText(const std::vector<Calibration>& calibrations) {
  Table table({"job", "A/A duels", "false alarms", "slowdown", "found",
               "missed", "cannot tell", "measured as"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  std::string floors;
  for (const Calibration& calibration : calibrations) {
    for (const CalibrationPoint& point : calibration.points()) {
      table.AddRow(
          {calibration.job(), absl::StrCat(calibration.clean_duels()),
           absl::StrCat(calibration.false_alarms()),
           absl::StrFormat("%g%%", point.slowdown_percent()),
           absl::StrFormat("%d of %d", point.found(), point.duels()),
           absl::StrCat(point.missed()),
           absl::StrCat(point.duels() - point.found() - point.missed()),
           absl::StrFormat("%+.2f%%", point.median_effect_percent())});
    }
    absl::StrAppend(&floors, PrintableText(calibration.job()), ": ",
                    calibration.has_floor_percent()
                        ? absl::StrFormat("detects changes from %g%%",
                                          calibration.floor_percent())
                        : std::string("detects none of these slowdowns"),
                    "\n");
  }
  return absl::StrCat(table.empty() ? "" : table.ToText(), floors);
}

}  // namespace feedrate
