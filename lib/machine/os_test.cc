#include "lib/machine/os.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

TEST(OsTest, ReadsNames) {
  FakeRoot files;
  files.Write("/proc/sys/kernel/hostname", "bench-1\n");
  files.Write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  files.Write("/etc/os-release",
              "NAME=\"Debian GNU/Linux\"\n"
              "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  const OsInfo os = ReadOs(files.root());
  EXPECT_EQ(os.host, "bench-1");
  EXPECT_EQ(os.kernel, "6.1.0-18-amd64");
  EXPECT_EQ(os.distribution, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(os.glibc, "");
}

TEST(OsTest, DistributionWithoutAPrettyName) {
  FakeRoot files;
  files.Write("/usr/lib/os-release", "NAME='It'\nVERSION=\"1 \\\"x\\\"\"\n");
  EXPECT_EQ(ReadOs(files.root()).distribution, "It 1 \"x\"");
  files.Write("/etc/os-release", "NAME=Arch\n");
  EXPECT_EQ(ReadOs(files.root()).distribution, "Arch");
  files.Write("/etc/os-release", "PRETTY_NAME=\"");
  EXPECT_EQ(ReadOs(files.root()).distribution, "\"");
}

TEST(OsTest, AbsentIsEmpty) {
  FakeRoot files;
  EXPECT_EQ(ReadOs(files.root()).kernel, "");
  EXPECT_EQ(ReadOs(files.root()).distribution, "");
}

TEST(OsTest, ThisMachine) {
  utsname names;
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(ReadOs(Root()).kernel, names.release);
  EXPECT_EQ(ReadOs(Root()).host, names.nodename);
}

}  // namespace
}  // namespace feedrate
