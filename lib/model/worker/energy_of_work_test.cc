#include "lib/model/worker/energy_of_work.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

constexpr char kPackages[] = "/sys/class/powercap/intel-rapl:";

TEST(EnergyOfWorkTest, PausesAreLeftOut) {
  FakeRoot fake;
  const std::string first = std::string(kPackages) + "0";
  fake.Write(first + "/name", "package-0");
  fake.Write(first + "/energy_uj", "1000000");
  EnergyOfWork work(fake.root(), nullptr);
  fake.Write(first + "/energy_uj", "4000000");
  work.Pause();
  fake.Write(first + "/energy_uj", "104000000");
  work.Resume();
  fake.Write(first + "/energy_uj", "106000000");
  const EnergyUse used = work.Stop();
  EXPECT_DOUBLE_EQ(used.cpu_j.value_or(0), 3 + 2);
  EXPECT_FALSE(used.gpu_j.has_value());
}

// What the pause used would have been the work's.
TEST(EnergyOfWorkTest, APauseThatCannotBeReadLeavesNothing) {
  FakeRoot fake;
  const std::string first = std::string(kPackages) + "0";
  fake.Write(first + "/name", "package-0");
  fake.Write(first + "/energy_uj", "1000000");
  EnergyOfWork work(fake.root(), nullptr);
  fake.Write(first + "/energy_uj", "");
  work.Pause();
  fake.Write(first + "/energy_uj", "104000000");
  work.Resume();
  EXPECT_FALSE(work.Stop().cpu_j.has_value());
}

}  // namespace
}  // namespace feedrate
