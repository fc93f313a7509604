#include "lib/stats/student_t.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

// Expected values are scipy.stats.t of SciPy 1.
TEST(StudentTTest, CdfAgreesWithSciPy) {
  EXPECT_EQ(StudentTCdf(0, 5), 0.5);
  EXPECT_NEAR(StudentTCdf(1.5, 3), 0.8847080673775886, 1e-12);
  EXPECT_NEAR(StudentTCdf(-2.2, 7.3), 0.0310845827000118, 1e-12);
}

TEST(StudentTTest, QuantileAgreesWithSciPy) {
  EXPECT_NEAR(StudentTQuantile(0.975, 1), 12.706204736174694, 1e-9);
  EXPECT_NEAR(StudentTQuantile(0.975, 2), 4.302652729749462, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.975, 4), 2.7764451051977934, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.975, 1000), 1.962339080826408, 1e-9);
  EXPECT_NEAR(StudentTQuantile(0.9, 2.5), 1.7302509288071763, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.6, 30), 0.2556053649519128, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.025, 3), -3.1824463052837078, 1e-10);
}

}  // namespace
}  // namespace feedrate
