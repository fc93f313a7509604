#include "lib/machine/cpuinfo.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr char kV1[] = "fpu cx8 cmov mmx fxsr sse sse2 syscall lm";
constexpr char kV2[] = " pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm";
constexpr char kV3[] = " movbe xsave avx f16c abm bmi1 avx2 bmi2 fma";
constexpr char kV4[] = " avx512f avx512dq avx512cd avx512bw avx512vl";

int LevelOf(const std::string& flags) {
  return ParseCpuInfo(absl::StrCat("processor\t: 0\nflags\t\t: ", flags))
      .x86_64_level;
}

TEST(CpuInfoTest, LevelIsTheHighestThatIsComplete) {
  EXPECT_EQ(LevelOf(kV1), 1);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2)), 2);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, kV3)), 3);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, kV3, kV4)), 4);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV3, kV4)), 1) << "level 2 is missing";
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, " avx avx2")), 2);
  EXPECT_EQ(LevelOf("fpu sse2"), 0) << "not a 64-bit processor";
}

TEST(CpuInfoTest, ReadsTheFirstProcessorOnly) {
  const CpuIdentity cpu = ParseCpuInfo(absl::StrCat(
      "processor\t: 0\nmodel name\t: First: with colon\ncpu MHz\t\t: 3100\n",
      "flags\t\t: ", kV1, " hypervisor\n\n",
      "processor\t: 1\nmodel name\t: Second\nflags\t\t: ", kV1, kV2, "\n"));
  EXPECT_EQ(cpu.model, "First: with colon");
  EXPECT_EQ(cpu.architecture, "x86-64");
  EXPECT_EQ(cpu.x86_64_level, 1);
  EXPECT_TRUE(cpu.hypervisor);
}

TEST(CpuInfoTest, ArmCoresAreNamedByNumber) {
  const CpuIdentity cpu = ParseCpuInfo(
      "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
      "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n");
  EXPECT_EQ(cpu.model, "Neoverse-V2");
  EXPECT_EQ(cpu.architecture, "aarch64");
  EXPECT_EQ(cpu.x86_64_level, 0);
  EXPECT_FALSE(cpu.hypervisor);
}

TEST(CpuInfoTest, SignatureHasTheMakersNumbers) {
  EXPECT_EQ(ParseCpuInfo("vendor_id : GenuineIntel\ncpu family : 6\n"
                         "model : 207\nmodel name : Intel(R) Xeon(R) "
                         "Processor\nstepping : 2\n")
                .signature,
            "GenuineIntel-6-207-2");
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\nCPU part : 0xd4f\n"
                         "CPU variant : 0x0\nCPU revision : 1\n")
                .signature,
            "0x41-0xd4f-0x0-1");
  EXPECT_EQ(ParseCpuInfo("processor : 0\n").signature, "");
}

TEST(CpuInfoTest, UnknownArmCoresKeepTheirNumbers) {
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\nCPU part : 0xfff\n").model,
            "ARM-0x41-0xfff");
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\n").model, "");
}

TEST(CpuInfoTest, OtherArchitecturesGiveTheirOwnName) {
  EXPECT_EQ(ParseCpuInfo("processor : 0\ncpu : POWER9, altivec\n").model,
            "POWER9, altivec");
}

TEST(CpuInfoTest, NothingInNothingOut) {
  for (const char* text : {"", "\n\n", ":", "no colon here", "\0\1\2"}) {
    const CpuIdentity cpu = ParseCpuInfo(text);
    EXPECT_EQ(cpu.model, "");
    EXPECT_EQ(cpu.architecture, "");
    EXPECT_EQ(cpu.x86_64_level, 0);
  }
}

}  // namespace
}  // namespace feedrate
