// The part of the binary interface of NVIDIA's management library (NVML) that
// feedrate calls. Declared here because the library is loaded at run time, so
// that its header is not needed to build.
#pragma once

extern "C" {

using NvmlReturn = int;  // 0 is success.
using NvmlDevice = struct NvmlDeviceOpaque*;

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// Percentage of the time.
struct NvmlUtilization {
  unsigned gpu;
  unsigned memory;
};

using NvmlInitFn = NvmlReturn (*)();
using NvmlShutdownFn = NvmlReturn (*)();
using NvmlErrorStringFn = const char* (*)(NvmlReturn);
using NvmlSystemGetDriverVersionFn = NvmlReturn (*)(char* version,
                                                    unsigned length);
// 1000 * major + 10 * minor.
using NvmlSystemGetCudaDriverVersionFn = NvmlReturn (*)(int* version);
using NvmlDeviceGetCountFn = NvmlReturn (*)(unsigned* count);
using NvmlDeviceGetHandleByIndexFn = NvmlReturn (*)(unsigned index,
                                                    NvmlDevice* device);
using NvmlDeviceGetNameFn = NvmlReturn (*)(NvmlDevice device, char* name,
                                           unsigned length);
using NvmlDeviceGetMemoryInfoFn = NvmlReturn (*)(NvmlDevice device,
                                                 NvmlMemory* memory);
using NvmlDeviceGetCudaComputeCapabilityFn = NvmlReturn (*)(NvmlDevice device,
                                                            int* major,
                                                            int* minor);
using NvmlDeviceGetHandleByPciBusIdFn = NvmlReturn (*)(const char* bus_id,
                                                       NvmlDevice* device);
// MHz. `clock` is 1 for the processors (SM), 2 for the memory.
using NvmlDeviceGetClockInfoFn = NvmlReturn (*)(NvmlDevice device, int clock,
                                                unsigned* mhz);
// A set of bits, see gpu.cc.
using NvmlDeviceGetThrottleReasonsFn =
    NvmlReturn (*)(NvmlDevice device, unsigned long long* reasons);
using NvmlDeviceGetUtilizationRatesFn = NvmlReturn (*)(NvmlDevice device,
                                                       NvmlUtilization* rates);
// Utilization of the video decoder or the JPEG engines.
using NvmlDeviceGetEngineUtilizationFn = NvmlReturn (*)(NvmlDevice device,
                                                        unsigned* percent,
                                                        unsigned* period_us);
// Millijoules since the driver was loaded. Volta and later.
using NvmlDeviceGetTotalEnergyConsumptionFn =
    NvmlReturn (*)(NvmlDevice device, unsigned long long* millijoules);
// Needs root. Volta and later.
using NvmlDeviceSetGpuLockedClocksFn = NvmlReturn (*)(NvmlDevice device,
                                                      unsigned min_mhz,
                                                      unsigned max_mhz);
using NvmlDeviceResetGpuLockedClocksFn = NvmlReturn (*)(NvmlDevice device);
// Degrees Celsius. `sensor` is 0.
using NvmlDeviceGetTemperatureFn = NvmlReturn (*)(NvmlDevice device, int sensor,
                                                  unsigned* degrees);
// Modes of error correction (ECC) and of GPU division (MIG); 1 is on. The
// second value holds after the next start.
using NvmlDeviceGetEccModeFn = NvmlReturn (*)(NvmlDevice device, int* current,
                                              int* pending);
using NvmlDeviceGetMigModeFn = NvmlReturn (*)(NvmlDevice device,
                                              unsigned* current,
                                              unsigned* pending);

// A process that has memory on the GPU.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
// `count` is the room before the call, and how many there are after it. 7 if
// the room is too small.
using NvmlDeviceGetComputeRunningProcessesFn =
    NvmlReturn (*)(NvmlDevice device, unsigned* count, NvmlProcess* processes);

// A process that used the GPU lately.
struct NvmlProcessUse {
  unsigned pid;
  // Microseconds since 1970.
  unsigned long long time_us;
  // Percentage of the time.
  unsigned gpu;
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};
// Those since `since_us`. 6 if there are none; 7 if the room is too small.
using NvmlDeviceGetProcessUtilizationFn =
    NvmlReturn (*)(NvmlDevice device, NvmlProcessUse* uses, unsigned* count,
                   unsigned long long since_us);
// Milliwatts.
using NvmlDeviceGetEnforcedPowerLimitFn = NvmlReturn (*)(NvmlDevice device,
                                                         unsigned* limit);
}
