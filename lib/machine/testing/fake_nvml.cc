// A fake of NVIDIA's management library for tests. FEEDRATE_FAKE_NVML selects
// what it reports: `h200` (the default), `two` (an H200 and an L4), `none` (a
// driver without a GPU), `init` (does not start), `lost` (the second GPU fell
// off the bus) or `sparse` (a GPU of which only the name can be read). The
// maximum clock is 1980 MHz; FEEDRATE_FAKE_CLOCK_MHZ is the current clock
// (default 1980). FEEDRATE_FAKE_UTILIZATION lists the utilization of
// processors, memory, video decoder and JPEG engines in percent, such as
// 80,30,10,95 (default 50 each). 3 GiB of memory are in use. Each reading of
// the energy is 1.5 J above the last. Clocks can be locked unless
// FEEDRATE_FAKE_USER is set; the current clock is then the locked one. Memory
// runs at 3201 MHz, at 41 degrees. FEEDRATE_FAKE_OTHERS lists processes that
// use the GPU now and by how many percent, such as 123:30,456:10.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/machine/nvml_abi.h"

namespace {

constexpr NvmlReturn kSuccess = 0;
constexpr NvmlReturn kInvalidArgument = 2;
constexpr NvmlReturn kNotSupported = 3;
constexpr NvmlReturn kNoPermission = 4;
constexpr NvmlReturn kNotFound = 6;
constexpr NvmlReturn kInsufficientSize = 7;
constexpr NvmlReturn kGpuIsLost = 15;
constexpr NvmlReturn kLibraryMismatch = 18;

// 0: not locked.
unsigned locked_mhz = 0;

std::string Mode() {
  const char* mode = std::getenv("FEEDRATE_FAKE_NVML");
  return mode != nullptr ? mode : "h200";
}

bool IsL4(NvmlDevice device) { return reinterpret_cast<intptr_t>(device) == 2; }

// Returns entry number `index` of FEEDRATE_FAKE_UTILIZATION.
unsigned Percent(int index) {
  const char* at = std::getenv("FEEDRATE_FAKE_UTILIZATION");
  if (at == nullptr) return 50;
  for (; index > 0 && at != nullptr; --index) {
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::atoi(at);
}

// Processes and percentages of FEEDRATE_FAKE_OTHERS.
std::vector<std::pair<unsigned, unsigned>> Others() {
  std::vector<std::pair<unsigned, unsigned>> others;
  const char* at = std::getenv("FEEDRATE_FAKE_OTHERS");
  while (at != nullptr && *at != '\0') {
    others.emplace_back(std::atoi(at), std::atoi(std::strchr(at, ':') + 1));
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  return others;
}

NvmlReturn Engine(int index, unsigned* percent, unsigned* period_us) {
  if (Mode() == "sparse") return kNotSupported;
  *percent = Percent(index);
  *period_us = 20000;
  return kSuccess;
}

NvmlReturn CopyText(const char* text, char* out, unsigned length) {
  if (std::strlen(text) + 1 > length) return kInsufficientSize;
  std::strcpy(out, text);
  return kSuccess;
}

}  // namespace

extern "C" {

NvmlReturn nvmlInit_v2() {
  return Mode() == "init" ? kLibraryMismatch : kSuccess;
}

NvmlReturn nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(NvmlReturn code) {
  switch (code) {
    case kNoPermission:
      return "Insufficient Permissions";
    case kGpuIsLost:
      return "GPU is lost";
    case kLibraryMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

NvmlReturn nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return CopyText("580.65.06", version, length);
}

NvmlReturn nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetCount_v2(unsigned* count) {
  const std::string mode = Mode();
  *count = mode == "none" ? 0 : mode == "two" || mode == "lost" ? 2 : 1;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  if (index > 1) return kInvalidArgument;
  if (index == 1 && Mode() == "lost") return kGpuIsLost;
  *device = reinterpret_cast<NvmlDevice>(static_cast<intptr_t>(index + 1));
  return kSuccess;
}

NvmlReturn nvmlDeviceGetName(NvmlDevice device, char* name, unsigned length) {
  return CopyText(IsL4(device) ? "NVIDIA L4" : "NVIDIA H200", name, length);
}

NvmlReturn nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  if (Mode() == "sparse") return kNotSupported;
  memory->total = (IsL4(device) ? 23034ULL : 143771ULL) << 20;
  memory->used = 3ULL << 30;
  memory->free = memory->total - memory->used;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetCudaComputeCapability(NvmlDevice device, int* major,
                                              int* minor) {
  if (Mode() == "sparse") return kNotSupported;
  *major = IsL4(device) ? 8 : 9;
  *minor = IsL4(device) ? 9 : 0;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device,
                                           unsigned* milliwatts) {
  if (Mode() == "sparse") return kNotSupported;
  *milliwatts = IsL4(device) ? 72000 : 700000;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id,
                                            NvmlDevice* device) {
  if (std::strcmp(bus_id, "0000:01:00.0") != 0) return kInvalidArgument;
  return nvmlDeviceGetHandleByIndex_v2(0, device);
}

NvmlReturn nvmlDeviceGetMaxClockInfo(NvmlDevice, int, unsigned* mhz) {
  if (Mode() == "sparse") return kNotSupported;
  *mhz = 1980;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetClockInfo(NvmlDevice, int clock, unsigned* mhz) {
  if (Mode() == "sparse" || clock < 1 || clock > 2) return kNotSupported;
  if (clock == 2) {
    *mhz = 3201;
    return kSuccess;
  }
  const char* now = std::getenv("FEEDRATE_FAKE_CLOCK_MHZ");
  *mhz = locked_mhz > 0 ? locked_mhz : now != nullptr ? std::atoi(now) : 1980;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetTemperature(NvmlDevice, int, unsigned* degrees) {
  if (Mode() == "sparse") return kNotSupported;
  *degrees = 41;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetEccMode(NvmlDevice device, int* current, int* pending) {
  if (Mode() == "sparse" || IsL4(device)) return kNotSupported;
  *current = *pending = 1;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetMigMode(NvmlDevice device, unsigned* current,
                                unsigned* pending) {
  if (Mode() == "sparse" || IsL4(device)) return kNotSupported;
  *current = *pending = 0;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice, unsigned* count,
                                                   NvmlProcess* processes) {
  if (Mode() == "sparse") return kNotSupported;
  const auto others = Others();
  for (size_t i = 0; i < others.size(); ++i) processes[i].pid = others[i].first;
  *count = others.size();
  return kSuccess;
}

NvmlReturn nvmlDeviceGetProcessUtilization(NvmlDevice, NvmlProcessUse* uses,
                                           unsigned* count,
                                           unsigned long long since_us) {
  const auto others = Others();
  if (others.empty()) return kNotFound;
  for (size_t i = 0; i < others.size(); ++i) {
    uses[i] = {others[i].first, since_us + 1, others[i].second, 0, 0, 0};
  }
  *count = others.size();
  return kSuccess;
}

NvmlReturn nvmlDeviceGetTotalEnergyConsumption(
    NvmlDevice, unsigned long long* millijoules) {
  static unsigned long long used = 0;
  if (Mode() == "sparse") return kNotSupported;
  *millijoules = used += 1500;
  return kSuccess;
}

NvmlReturn nvmlDeviceSetGpuLockedClocks(NvmlDevice, unsigned min_mhz,
                                        unsigned max_mhz) {
  if (std::getenv("FEEDRATE_FAKE_USER") != nullptr) return kNoPermission;
  if (min_mhz != max_mhz || max_mhz > 1980) return kInvalidArgument;
  locked_mhz = max_mhz;
  return kSuccess;
}

NvmlReturn nvmlDeviceResetGpuLockedClocks(NvmlDevice) {
  locked_mhz = 0;
  return kSuccess;
}

NvmlReturn nvmlDeviceGetUtilizationRates(NvmlDevice, NvmlUtilization* rates) {
  if (Mode() == "sparse") return kNotSupported;
  rates->gpu = Percent(0);
  rates->memory = Percent(1);
  return kSuccess;
}

NvmlReturn nvmlDeviceGetDecoderUtilization(NvmlDevice, unsigned* percent,
                                           unsigned* period_us) {
  return Engine(2, percent, period_us);
}

NvmlReturn nvmlDeviceGetJpgUtilization(NvmlDevice, unsigned* percent,
                                       unsigned* period_us) {
  return Engine(3, percent, period_us);
}

NvmlReturn nvmlDeviceGetCurrentClocksThrottleReasons(
    NvmlDevice, unsigned long long* reasons) {
  if (Mode() == "sparse") return kNotSupported;
  // When slow: the software power cap and software thermal bits.
  *reasons = std::getenv("FEEDRATE_FAKE_CLOCK_MHZ") != nullptr ? 0x24 : 0;
  return kSuccess;
}

}  // extern "C"
