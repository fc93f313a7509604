#include "lib/environment/profile.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

std::string ProfileOf(const FakeRoot& files) {
  return MachineProfile(ReadMachine(MachineBelow(files.folder())));
}

std::string RecordedProfile(const char* machine) {
  FakeRoot files;
  files.CopyMachine(machine);
  return ProfileOf(files);
}

TEST(ProfileTest, RecordedMachines) {
  EXPECT_EQ(RecordedProfile("xeon_vm_16"), "xeon-8481c_16c_x86-64");
  EXPECT_EQ(RecordedProfile("epyc_server"), "epyc-9b45_256c_x86-64");
  EXPECT_EQ(RecordedProfile("graviton_vm"), "neoverse-v2_4c_aarch64");
  EXPECT_EQ(RecordedProfile("laptop"), "i7-1360p_16c_x86-64");
  EXPECT_EQ(RecordedProfile("container_v2"), "epyc-7b13_3c_x86-64");
  EXPECT_EQ(RecordedProfile("container_v1"), "xeon-sapphirerapids_4c_x86-64");
}

TEST(ProfileTest, TasksetMakesNoOtherMachine) {
  FakeRoot files;
  files.CopyMachine("xeon_vm_16");
  files.Write("/proc/self/status", "Cpus_allowed_list:\t3\n");
  EXPECT_EQ(ProfileOf(files), "xeon-8481c_16c_x86-64");
}

TEST(ProfileTest, FamilyAloneGetsTheModelNumber) {
  MachineInfo machine;
  machine.cpu.model = "Intel(R) Xeon(R) Processor";
  machine.cpu.signature = "GenuineIntel-6-207-2";
  machine.cpu.architecture = "x86-64";
  machine.cpu.x86_64_level = 4;
  machine.cpu.online_cores = 16;
  EXPECT_EQ(MachineProfile(machine), "xeon-m207_16c_x86-64");
  machine.cpu.model = "Intel(R) Xeon(R) CPU @ 2.20GHz";
  EXPECT_EQ(MachineProfile(machine), "xeon-2.20ghz_16c_x86-64");
}

TEST(ProfileTest, NothingKnown) {
  EXPECT_EQ(MachineProfile(MachineInfo()), "cpu");
}

MachineInfo GpuMachine() {
  MachineInfo machine;
  machine.gpu.driver = "580.65.06";
  machine.gpu.cuda = "13.0";
  machine.gpu.gpus = {{"NVIDIA H200", 1, "9.0", 700.0}};
  machine.torch.version = "2.11.0+cu130";
  return machine;
}

TEST(ProfileTest, Gpu) {
  EXPECT_EQ(MachineProfile(GpuMachine()),
            "h200x1_driver580_cuda13.0_torch2.11_sm90");
}

TEST(ProfileTest, WithoutTorchItIsLeftOut) {
  MachineInfo machine = GpuMachine();
  machine.torch.version = "";
  EXPECT_EQ(MachineProfile(machine), "h200x1_driver580_cuda13.0_sm90");
}

TEST(ProfileTest, SeveralGpus) {
  MachineInfo machine = GpuMachine();
  machine.gpu.gpus.push_back(machine.gpu.gpus[0]);
  EXPECT_EQ(MachineProfile(machine),
            "h200x2_driver580_cuda13.0_torch2.11_sm90");
  machine.gpu.gpus.push_back({"NVIDIA L4", 1, "8.9", std::nullopt});
  EXPECT_EQ(MachineProfile(machine),
            "h200x2+l4x1_driver580_cuda13.0_torch2.11_sm90+sm89");
  machine.gpu.gpus = {{"NVIDIA B200", 1, "10.0", std::nullopt}};
  EXPECT_EQ(MachineProfile(machine),
            "b200x1_driver580_cuda13.0_torch2.11_sm100");
}

}  // namespace
}  // namespace feedrate
