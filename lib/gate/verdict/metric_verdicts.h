// Verdicts on memory, CPU seconds and other metrics of a duel besides time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/verdict.pb.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

// The level of a job's time and of each of its other metrics.
struct JointLevels {
  double time = 0;
  double metric = 0;
};

// Splits the level of each job, 0.01 / jobs, between time, which gets up to 96%
// of it, and `metrics` other metrics, which get equal parts of the rest.
// Without other metrics time gets all, and without time the metrics do. Each is
// at most LevelFor(1). With `error`, jobs share that instead, without the
// limit.
JointLevels LevelsFor(int64_t jobs, int64_t metrics, bool has_time,
                      absl::optional<double> error = absl::nullopt);

// How many of the chosen metrics at least one job has on both sides.
int64_t JudgedMetrics(const PairedRows& rows);

struct MetricLook {
  // kSlower means that B has more.
  PairedLook look;
  // Whether each side always had the same value.
  bool constant = false;
};

// Judges a metric as LookAt judges time, except that values which never vary
// are compared exactly. If each side has one value in n pairs, in both orders,
// and the two differ, then not even a metric that takes two values at random
// looks like that more often than 2 / 4^n; a metric that depends on the order
// never does. That chance is part of the level of the design. `least` is that
// of GateMetric. REQUIRES: `pairs` is not empty.
MetricLook LookAtMetric(absl::Span<const MetricPair> pairs, double least,
                        const PairedDesign& design, int look,
                        bool exact_p_value = false);

// Judges a metric of a job in look number `look` of `design`, whose interest is
// replaced by the metric's.
MetricChange JudgeMetric(absl::Span<const MetricPair> pairs,
                         const GateMetric& metric, PairedDesign design,
                         int look);

// "memory worse: +10.00% [+9.90%, +10.10%] in 20 pairs, p = 2e-06: 13.0 MB ->
// 14.3 MB".
std::string MetricChangeText(const MetricChange& change);

// Whether the metric is `better` or `worse`.
bool HasMoved(const MetricChange& change);

}  // namespace feedrate
