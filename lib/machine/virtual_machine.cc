#include "lib/machine/virtual_machine.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "lib/machine/cpuinfo.h"

namespace feedrate {
namespace {

struct Vendor {
  const char* text;  // Found in the firmware's vendor or product name.
  const char* hypervisor;
};

constexpr Vendor kVendors[] = {
    {"KVM", "kvm"},
    {"QEMU", "kvm"},
    {"Google Compute Engine", "kvm"},
    {"Amazon EC2", "kvm"},
    {"OpenStack", "kvm"},
    {"Alibaba Cloud", "kvm"},
    {"DigitalOcean", "kvm"},
    {"Hetzner", "kvm"},
    {"VMware", "vmware"},
    {"VirtualBox", "virtualbox"},
    {"Xen", "xen"},
    {"Apple Virtualization", "apple"},
    {"Virtual Machine", "hyperv"},  // Microsoft's product name.
};

std::string FromFirmware(const Root& root) {
  const std::string vendor = root.ReadText("/sys/class/dmi/id/sys_vendor");
  const std::string product = root.ReadText("/sys/class/dmi/id/product_name");
  // Amazon's machines without a hypervisor carry the same vendor.
  if (absl::EndsWith(product, ".metal")) return "";
  for (const Vendor& known : kVendors) {
    if (absl::StrContains(vendor, known.text) ||
        absl::StrContains(product, known.text)) {
      return known.hypervisor;
    }
  }
  return "";
}

}  // namespace

std::string ReadHypervisor(const Root& root) {
  const std::string xen = root.ReadText("/sys/hypervisor/type");
  if (!xen.empty()) return xen;
  const std::string firmware = FromFirmware(root);
  if (!firmware.empty()) return firmware;
  // Small hypervisors have no such firmware, but their clock or their
  // paravirtual devices show.
  const std::string clock = root.ReadText(
      "/sys/devices/system/clocksource/clocksource0/available_clocksource");
  if (absl::StrContains(clock, "kvm-clock")) return "kvm";
  if (absl::StrContains(clock, "hyperv")) return "hyperv";
  if (!root.List("/sys/bus/virtio/devices").empty()) return "unknown";
  const bool virtual_cpu =
      ParseCpuInfo(root.Read("/proc/cpuinfo", 8192).value_or("")).hypervisor;
  return virtual_cpu ? "unknown" : "";
}

}  // namespace feedrate
