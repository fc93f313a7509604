// Student's t distribution.
#ifndef FEEDRATE_LIB_STATS_STUDENT_T_H_
#define FEEDRATE_LIB_STATS_STUDENT_T_H_

namespace feedrate {

// Probability of at most `t` with `df` degrees of freedom (> 0, need not be
// whole). Right to about 12 digits.
double StudentTCdf(double t, double df);

// The t with StudentTCdf(t, df) = p. REQUIRES: 0 < p < 1, df > 0.
double StudentTQuantile(double p, double df);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_STUDENT_T_H_
