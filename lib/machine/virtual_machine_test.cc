#include "lib/machine/virtual_machine.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

TEST(VirtualMachineTest, RecordedMachines) {
  EXPECT_EQ(ReadHypervisor(RecordedMachine("xeon_vm_16")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("graviton_vm")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("container_v1")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("container_v2")), "unknown");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("epyc_server")), "");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("laptop")), "");
}

TEST(VirtualMachineTest, BareMetalOfACloud) {
  FakeRoot files;
  files.CopyMachine("graviton_vm");
  files.Write("/sys/class/dmi/id/product_name", "m8g.metal\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "");
}

TEST(VirtualMachineTest, Xen) {
  FakeRoot files;
  files.Write("/sys/hypervisor/type", "xen\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "xen");
}

TEST(VirtualMachineTest, MicrosoftsProductName) {
  FakeRoot files;
  files.Write("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
  files.Write("/sys/class/dmi/id/product_name", "Virtual Machine\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "hyperv");
}

TEST(VirtualMachineTest, SmallHypervisorsShowByTheirDevices) {
  FakeRoot files;
  files.Write("/sys/bus/virtio/devices/virtio0/status", "0x0000000f\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "unknown");
  files.Write(
      "/sys/devices/system/clocksource/clocksource0/available_clocksource",
      "kvm-clock tsc acpi_pm\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "kvm");
}

TEST(VirtualMachineTest, NothingSeen) {
  FakeRoot files;
  EXPECT_EQ(ReadHypervisor(files.root()), "");
}

}  // namespace
}  // namespace feedrate
