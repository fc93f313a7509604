#include "lib/environment/short_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/ascii.h"

namespace feedrate {
namespace {

struct Name {
  const char* full;
  const char* shortened;
};

TEST(CpuNameTest, KnownNames) {
  const Name names[] = {
      {"Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "xeon-8481c"},
      {"INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.30GHz", "xeon-8581c"},
      {"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "xeon-6338"},
      {"Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "xeon-e5-2690-v4"},
      {"Intel(R) Xeon(R) CPU Max 9480", "xeon-max-9480"},
      {"Intel(R) Xeon(R) 6985P-C", "xeon-6985p-c"},
      {"Intel(R) Xeon(R) CPU @ 2.20GHz", "xeon-2.20ghz"},
      {"Intel(R) Xeon(R) Processor @ 2.30GHz", "xeon-2.30ghz"},
      {"Intel(R) Xeon(R) Platinum", "xeon-platinum"},
      {"Intel Xeon Processor (SapphireRapids)", "xeon-sapphirerapids"},
      {"Intel Xeon Processor (Skylake, IBRS)", "xeon-skylake"},
      {"Intel Core Processor (Broadwell, no TSX, IBRS)", "core-broadwell"},
      {"13th Gen Intel(R) Core(TM) i7-1360P", "i7-1360p"},
      {"Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz", "i9-9900k"},
      {"Intel(R) Core(TM) Ultra 7 155H", "core-ultra-7-155h"},
      {"Intel(R) Core(TM)2 Duo CPU     E8400  @ 3.00GHz", "core2-duo-e8400"},
      {"Intel(R) Atom(TM) CPU C3758 @ 2.20GHz", "atom-c3758"},
      {"Intel(R) Pentium(R) Silver N5000 CPU @ 1.10GHz",
       "pentium-silver-n5000"},
      {"AMD EPYC 9B45 64-Core Processor", "epyc-9b45"},
      {"AMD EPYC 7B13", "epyc-7b13"},
      {"AMD EPYC-Milan Processor", "epyc-milan"},
      {"AMD EPYC Processor (with IBPB)", "epyc"},
      {"AMD Ryzen 9 7950X 16-Core Processor", "ryzen-9-7950x"},
      {"AMD Ryzen 7 PRO 6850U with Radeon Graphics", "ryzen-7-pro-6850u"},
      {"AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "ryzen-ai-9-hx-370"},
      {"AMD FX(tm)-8350 Eight-Core Processor", "fx-8350"},
      {"AMD Opteron(tm) Processor 6376", "opteron-6376"},
      {"Neoverse-V2", "neoverse-v2"},
      {"Azure Cobalt 100", "azure-cobalt-100"},
      {"ARM-0x41-0xfff", "arm-0x41-0xfff"},
      {"Apple M4", "apple-m4"},
      {"POWER9, altivec supported", "power9"},
      {"QEMU Virtual CPU version 2.5+", "qemu-2.5"},
      {"Common KVM processor", "common-kvm"},
      {"DO-Premium-Intel", "do-premium-intel"},
      {"", "cpu"},
      {"Virtual CPU", "cpu"},
      {"_/@#", "cpu"},
  };
  for (const Name& name : names) {
    EXPECT_EQ(ShortCpuName(name.full), name.shortened) << name.full;
  }
}

TEST(CpuNameTest, AnyTextGivesOnePlainWord) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string model(random() % 40, '\0');
    for (char& c : model) c = static_cast<char>(random());
    const std::string name = ShortCpuName(model);
    ASSERT_FALSE(name.empty());
    for (const char c : name) {
      ASSERT_TRUE(absl::ascii_islower(c) || absl::ascii_isdigit(c) ||
                  c == '.' || c == '-')
          << name;
    }
  }
}

TEST(GpuNameTest, KnownNames) {
  const Name names[] = {
      {"NVIDIA H200", "h200"},
      {"NVIDIA L4", "l4"},
      {"Tesla T4", "t4"},
      {"NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"},
      {"NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"", "gpu"},
  };
  for (const Name& name : names) {
    EXPECT_EQ(ShortGpuName(name.full), name.shortened) << name.full;
  }
}

}  // namespace
}  // namespace feedrate
