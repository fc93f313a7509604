#include "lib/machine/gpu.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"

namespace feedrate {

// The loaded and initialized library. Thread-safe, as NVML itself is.
class Nvml {
 public:
  // Loads `library`, a file name or path. NotFound if there is no such library;
  // FailedPrecondition if it lacks a function or does not start, for example
  // because its version differs from the kernel driver's.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const std::string& library);

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Returns the library's text for an error code.
  std::string ErrorText(NvmlReturn code) const;

  // Never null.
  NvmlSystemGetDriverVersionFn system_get_driver_version = nullptr;
  NvmlSystemGetCudaDriverVersionFn system_get_cuda_driver_version = nullptr;
  NvmlDeviceGetCountFn device_get_count = nullptr;
  NvmlDeviceGetHandleByIndexFn device_get_handle_by_index = nullptr;
  NvmlDeviceGetNameFn device_get_name = nullptr;
  NvmlDeviceGetMemoryInfoFn device_get_memory_info = nullptr;
  NvmlDeviceGetCudaComputeCapabilityFn device_get_cuda_compute_capability =
      nullptr;
  // Null in libraries before 2014.
  NvmlDeviceGetEnforcedPowerLimitFn device_get_enforced_power_limit = nullptr;
  // The following may be null too.
  NvmlDeviceGetHandleByPciBusIdFn device_get_handle_by_pci_bus_id = nullptr;
  NvmlDeviceGetClockInfoFn device_get_clock_info = nullptr;
  NvmlDeviceGetClockInfoFn device_get_max_clock_info = nullptr;
  NvmlDeviceGetThrottleReasonsFn device_get_throttle_reasons = nullptr;
  NvmlDeviceGetUtilizationRatesFn device_get_utilization_rates = nullptr;
  NvmlDeviceGetEngineUtilizationFn device_get_decoder_utilization = nullptr;
  NvmlDeviceGetTotalEnergyConsumptionFn device_get_total_energy = nullptr;
  NvmlDeviceSetGpuLockedClocksFn device_set_locked_clocks = nullptr;
  NvmlDeviceResetGpuLockedClocksFn device_reset_locked_clocks = nullptr;
  NvmlDeviceGetTemperatureFn device_get_temperature = nullptr;
  NvmlDeviceGetEccModeFn device_get_ecc_mode = nullptr;
  NvmlDeviceGetMigModeFn device_get_mig_mode = nullptr;
  NvmlDeviceGetComputeRunningProcessesFn device_get_processes = nullptr;
  NvmlDeviceGetProcessUtilizationFn device_get_process_use = nullptr;
  // Since CUDA 12.
  NvmlDeviceGetEngineUtilizationFn device_get_jpg_utilization = nullptr;

 private:
  explicit Nvml(void* handle) : handle_(handle) {}

  // Looks up all functions. Call Init before calling any of them.
  absl::Status Resolve();
  absl::Status Init();

  void* const handle_;
  bool initialized_ = false;
  NvmlInitFn init_ = nullptr;
  NvmlShutdownFn shutdown_ = nullptr;
  NvmlErrorStringFn error_string_ = nullptr;
};

namespace {

template <typename Fn>
absl::Status Find(void* handle, const char* name, Fn* function) {
  *function = reinterpret_cast<Fn>(dlsym(handle, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVIDIA's management library has no function ", name,
                   "; install a driver of release 450 or later"));
}

template <typename Fn>
void FindIfAny(void* handle, const char* name, Fn* function) {
  *function = reinterpret_cast<Fn>(dlsym(handle, name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absl::NotFoundError(
        why != nullptr ? why : absl::StrCat("cannot load ", library));
  }
  std::unique_ptr<Nvml> nvml = absl::WrapUnique(new Nvml(handle));
  RETURN_IF_ERROR(nvml->Resolve());
  RETURN_IF_ERROR(nvml->Init());
  return nvml;
}

absl::Status Nvml::Resolve() {
  RETURN_IF_ERROR(Find(handle_, "nvmlInit_v2", &init_));
  RETURN_IF_ERROR(Find(handle_, "nvmlShutdown", &shutdown_));
  RETURN_IF_ERROR(Find(handle_, "nvmlErrorString", &error_string_));
  RETURN_IF_ERROR(
      Find(handle_, "nvmlSystemGetDriverVersion", &system_get_driver_version));
  RETURN_IF_ERROR(Find(handle_, "nvmlSystemGetCudaDriverVersion_v2",
                       &system_get_cuda_driver_version));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetCount_v2", &device_get_count));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetHandleByIndex_v2",
                       &device_get_handle_by_index));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetName", &device_get_name));
  RETURN_IF_ERROR(
      Find(handle_, "nvmlDeviceGetMemoryInfo", &device_get_memory_info));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetCudaComputeCapability",
                       &device_get_cuda_compute_capability));
  FindIfAny(handle_, "nvmlDeviceGetEnforcedPowerLimit",
            &device_get_enforced_power_limit);
  FindIfAny(handle_, "nvmlDeviceGetHandleByPciBusId_v2",
            &device_get_handle_by_pci_bus_id);
  FindIfAny(handle_, "nvmlDeviceGetClockInfo", &device_get_clock_info);
  FindIfAny(handle_, "nvmlDeviceGetMaxClockInfo", &device_get_max_clock_info);
  FindIfAny(handle_, "nvmlDeviceGetCurrentClocksThrottleReasons",
            &device_get_throttle_reasons);
  FindIfAny(handle_, "nvmlDeviceGetUtilizationRates",
            &device_get_utilization_rates);
  FindIfAny(handle_, "nvmlDeviceGetDecoderUtilization",
            &device_get_decoder_utilization);
  FindIfAny(handle_, "nvmlDeviceGetJpgUtilization",
            &device_get_jpg_utilization);
  FindIfAny(handle_, "nvmlDeviceGetTotalEnergyConsumption",
            &device_get_total_energy);
  FindIfAny(handle_, "nvmlDeviceSetGpuLockedClocks", &device_set_locked_clocks);
  FindIfAny(handle_, "nvmlDeviceResetGpuLockedClocks",
            &device_reset_locked_clocks);
  FindIfAny(handle_, "nvmlDeviceGetTemperature", &device_get_temperature);
  FindIfAny(handle_, "nvmlDeviceGetEccMode", &device_get_ecc_mode);
  FindIfAny(handle_, "nvmlDeviceGetMigMode", &device_get_mig_mode);
  FindIfAny(handle_, "nvmlDeviceGetComputeRunningProcesses_v3",
            &device_get_processes);
  FindIfAny(handle_, "nvmlDeviceGetProcessUtilization",
            &device_get_process_use);
  return absl::OkStatus();
}

absl::Status Nvml::Init() {
  const NvmlReturn code = init_();
  initialized_ = code == 0;
  if (initialized_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "NVIDIA's management library does not start: ", ErrorText(code),
      " (code ", code, ")"));
}

Nvml::~Nvml() {
  if (initialized_) shutdown_();
  dlclose(handle_);
}

std::string Nvml::ErrorText(NvmlReturn code) const {
  const char* text = error_string_(code);
  return text != nullptr ? text : "unknown error";
}

namespace {

// Loads the first of `libraries` that exists.
absl::StatusOr<std::unique_ptr<Nvml>> LoadFirst(
    const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
    if (!absl::IsNotFound(nvml.status())) return nvml;
  }
  return absl::NotFoundError("NVIDIA's management library is not here");
}

constexpr unsigned kTextSize = 96;  // NVML's limit for names and versions.

absl::Status NvmlStatus(const Nvml& nvml, NvmlReturn code,
                        absl::string_view what) {
  if (code == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVIDIA's management library cannot give ", what, ": ",
                   nvml.ErrorText(code), " (code ", code, ")"));
}

absl::StatusOr<GpuInfo> ReadGpu(const Nvml& nvml, unsigned index) {
  const std::string what = absl::StrCat("GPU ", index);
  NvmlDevice device;
  RETURN_IF_ERROR(
      NvmlStatus(nvml, nvml.device_get_handle_by_index(index, &device), what));
  char name[kTextSize + 1] = {};
  RETURN_IF_ERROR(NvmlStatus(nvml,
                             nvml.device_get_name(device, name, kTextSize),
                             absl::StrCat("the name of ", what)));
  GpuInfo gpu;
  gpu.name = name;
  NvmlMemory memory = {};
  // GPUs that share memory with the processor do not support this.
  if (nvml.device_get_memory_info(device, &memory) == 0) {
    gpu.memory_bytes = memory.total;
  }
  int major, minor;
  if (nvml.device_get_cuda_compute_capability(device, &major, &minor) == 0) {
    gpu.compute_capability = absl::StrCat(major, ".", minor);
  }
  unsigned milliwatts;
  if (nvml.device_get_enforced_power_limit != nullptr &&
      nvml.device_get_enforced_power_limit(device, &milliwatts) == 0) {
    gpu.power_limit_w = milliwatts / 1000.0;
  }
  int ecc, pending_ecc;
  if (nvml.device_get_ecc_mode != nullptr &&
      nvml.device_get_ecc_mode(device, &ecc, &pending_ecc) == 0) {
    gpu.ecc = ecc != 0;
  }
  unsigned mig, pending_mig;
  if (nvml.device_get_mig_mode != nullptr &&
      nvml.device_get_mig_mode(device, &mig, &pending_mig) == 0) {
    gpu.mig = mig != 0;
  }
  return gpu;
}

absl::Status ReadSystem(const Nvml& nvml, GpuSystem* system) {
  char driver[kTextSize + 1] = {};
  RETURN_IF_ERROR(NvmlStatus(nvml,
                             nvml.system_get_driver_version(driver, kTextSize),
                             "the driver's version"));
  system->driver = driver;
  int cuda;
  RETURN_IF_ERROR(NvmlStatus(nvml, nvml.system_get_cuda_driver_version(&cuda),
                             "the CUDA version"));
  system->cuda = absl::StrCat(cuda / 1000, ".", cuda % 1000 / 10);
  unsigned count;
  RETURN_IF_ERROR(
      NvmlStatus(nvml, nvml.device_get_count(&count), "the number of GPUs"));
  for (unsigned i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(GpuInfo gpu, ReadGpu(nvml, i));
    system->gpus.push_back(std::move(gpu));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> NvmlLibraries() {
  return {"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

GpuSystem ReadGpus(const std::vector<std::string>& libraries) {
  GpuSystem system;
  const absl::StatusOr<std::unique_ptr<Nvml>> nvml = LoadFirst(libraries);
  if (absl::IsNotFound(nvml.status())) return system;
  const absl::Status status =
      nvml.ok() ? ReadSystem(**nvml, &system) : nvml.status();
  system.problem = std::string(status.message());
  return system;
}

namespace {

constexpr int kProcessorClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kTemperatureSensor = 0;

struct Bit {
  uint64_t bit;
  const char* word;
};
// Bits 0 (idle), 1 (requested clocks) and 4 (in sync with another GPU) are not
// throttling.
constexpr Bit kBits[] = {
    {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"},     {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},  {0x80, "hw_power_brake"}, {0x100, "display_clocks"},
};

absl::StatusOr<NvmlDevice> FindDevice(const Nvml& nvml,
                                      const std::string& pci_bus_id) {
  NvmlDevice device = nullptr;
  const bool by_bus =
      !pci_bus_id.empty() && nvml.device_get_handle_by_pci_bus_id != nullptr;
  const NvmlReturn code =
      by_bus ? nvml.device_get_handle_by_pci_bus_id(pci_bus_id.c_str(), &device)
             : nvml.device_get_handle_by_index(0, &device);
  if (code == 0) return device;
  return absl::NotFoundError(
      absl::StrCat("NVIDIA's management library finds no GPU ", pci_bus_id,
                   ": ", nvml.ErrorText(code)));
}

}  // namespace

GpuClock::GpuClock(std::unique_ptr<Nvml> nvml, NvmlDevice device)
    : nvml_(std::move(nvml)), device_(device) {
  unsigned mhz = 0;
  if (nvml_->device_get_max_clock_info != nullptr &&
      nvml_->device_get_max_clock_info(device_, kProcessorClock, &mhz) == 0) {
    max_mhz_ = mhz;
  }
}

absl::StatusOr<std::unique_ptr<GpuClock>> GpuClock::Open(
    const std::vector<std::string>& libraries, const std::string& pci_bus_id) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, FindDevice(*nvml, pci_bus_id));
  return absl::WrapUnique(new GpuClock(std::move(nvml), device));
}

GpuClock::~GpuClock() = default;

std::optional<GpuClock::Reading> GpuClock::Read() const {
  Reading reading;
  unsigned mhz = 0;
  if (nvml_->device_get_clock_info == nullptr ||
      nvml_->device_get_clock_info(device_, kProcessorClock, &mhz) != 0) {
    return std::nullopt;
  }
  reading.mhz = mhz;
  unsigned long long reasons = 0;
  if (nvml_->device_get_throttle_reasons != nullptr &&
      nvml_->device_get_throttle_reasons(device_, &reasons) == 0) {
    reading.throttle_reasons = reasons;
  }
  if (nvml_->device_get_clock_info(device_, kMemoryClock, &mhz) == 0) {
    reading.memory_mhz = mhz;
  }
  unsigned value = 0;
  if (nvml_->device_get_temperature != nullptr &&
      nvml_->device_get_temperature(device_, kTemperatureSensor, &value) == 0) {
    reading.temperature_c = value;
  }
  if (nvml_->device_get_enforced_power_limit != nullptr &&
      nvml_->device_get_enforced_power_limit(device_, &value) == 0) {
    reading.power_limit_w = value / 1000.0;
  }
  return reading;
}

namespace {

constexpr NvmlReturn kNotFound = 6;
// Far more than use a GPU at the same time. The driver wants room for all of
// its steps, 72 of them with an H200.
constexpr unsigned kMostProcesses = 1024;

bool IsAlive(unsigned pid) {
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

}  // namespace

std::optional<GpuOthers> GpuClock::OthersSince(int64_t since_us) const {
  if (nvml_->device_get_processes == nullptr ||
      nvml_->device_get_process_use == nullptr) {
    return std::nullopt;
  }
  std::vector<NvmlProcess> processes(kMostProcesses);
  unsigned count = kMostProcesses;
  if (nvml_->device_get_processes(device_, &count, processes.data()) != 0) {
    return std::nullopt;
  }
  GpuOthers others;
  if (count == 0) return others;
  std::set<unsigned> ours;
  for (const pid_t pid : ProcessTree(Root("/"), getpid())) {
    ours.insert(static_cast<unsigned>(pid));
  }
  for (unsigned i = 0; i < count; ++i) {
    // One that is not here has another number here, or has just ended.
    if (!IsAlive(processes[i].pid)) return std::nullopt;
    others.is_used_by_us |= ours.count(processes[i].pid) > 0;
  }
  std::vector<NvmlProcessUse> uses(kMostProcesses);
  count = kMostProcesses;
  const NvmlReturn code = nvml_->device_get_process_use(
      device_, uses.data(), &count, static_cast<unsigned long long>(since_us));
  if (code == kNotFound) return others;
  if (code != 0) return std::nullopt;
  // A process may be there several times, once for each of the driver's steps.
  std::map<unsigned, unsigned> most;
  for (unsigned i = 0; i < count; ++i) {
    const NvmlProcessUse& use = uses[i];
    if (use.pid == 0 || use.gpu == 0 || use.gpu > 100 || !IsAlive(use.pid) ||
        static_cast<int64_t>(use.time_us) < since_us ||
        ours.count(use.pid) > 0) {
      continue;
    }
    most[use.pid] = std::max(most[use.pid], use.gpu);
  }
  others.processes = static_cast<int64_t>(most.size());
  for (const auto& [pid, percent] : most) {
    others.busy = std::min(1.0, others.busy + percent / 100.0);
  }
  return others;
}

namespace {

absl::StatusOr<NvmlDevice> DeviceAt(const Nvml& nvml, unsigned index) {
  NvmlDevice device = nullptr;
  const NvmlReturn code = nvml.device_get_handle_by_index(index, &device);
  if (code == 0) return device;
  return absl::NotFoundError(
      absl::StrCat("NVIDIA's management library finds no GPU ", index, ": ",
                   nvml.ErrorText(code)));
}

constexpr NvmlReturn kNoPermission = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<GpuClock>> GpuClock::OpenAt(
    const std::vector<std::string>& libraries, unsigned index) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, DeviceAt(*nvml, index));
  return absl::WrapUnique(new GpuClock(std::move(nvml), device));
}

GpuEnergy::GpuEnergy(std::unique_ptr<Nvml> nvml, NvmlDevice device)
    : nvml_(std::move(nvml)), device_(device) {}

GpuEnergy::~GpuEnergy() = default;

absl::StatusOr<std::unique_ptr<GpuEnergy>> GpuEnergy::Open(
    const std::vector<std::string>& libraries, unsigned index) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, DeviceAt(*nvml, index));
  return absl::WrapUnique(new GpuEnergy(std::move(nvml), device));
}

absl::StatusOr<std::unique_ptr<GpuEnergy>> GpuEnergy::OpenAt(
    const std::vector<std::string>& libraries, const std::string& pci_bus_id) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, FindDevice(*nvml, pci_bus_id));
  return absl::WrapUnique(new GpuEnergy(std::move(nvml), device));
}

std::optional<double> GpuEnergy::Joules() const {
  unsigned long long millijoules = 0;
  if (nvml_->device_get_total_energy == nullptr ||
      nvml_->device_get_total_energy(device_, &millijoules) != 0) {
    return std::nullopt;
  }
  return static_cast<double>(millijoules) / 1000;
}

GpuClockLock::GpuClockLock(std::unique_ptr<Nvml> nvml, NvmlDevice device,
                           int64_t mhz)
    : nvml_(std::move(nvml)), device_(device), mhz_(mhz) {}

GpuClockLock::~GpuClockLock() { nvml_->device_reset_locked_clocks(device_); }

absl::StatusOr<std::unique_ptr<GpuClockLock>> GpuClockLock::Lock(
    const std::vector<std::string>& libraries, unsigned index, int64_t mhz) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, DeviceAt(*nvml, index));
  if (nvml->device_set_locked_clocks == nullptr ||
      nvml->device_reset_locked_clocks == nullptr) {
    return absl::UnimplementedError("this driver cannot lock clocks");
  }
  unsigned clock = static_cast<unsigned>(mhz);
  if (mhz == 0 &&
      (nvml->device_get_max_clock_info == nullptr ||
       nvml->device_get_max_clock_info(device, kProcessorClock, &clock) != 0)) {
    return absl::UnimplementedError(
        "this driver does not report the highest clock; name one in MHz");
  }
  const NvmlReturn code = nvml->device_set_locked_clocks(device, clock, clock);
  if (code != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("NVIDIA's management library refuses ", clock,
                     " MHz: ", nvml->ErrorText(code), " (code ", code, ")",
                     code == kNoPermission ? "; run as root" : ""));
  }
  return absl::WrapUnique(new GpuClockLock(std::move(nvml), device, clock));
}

std::vector<std::string> ThrottleWords(uint64_t reasons) {
  std::vector<std::string> words;
  for (const Bit& bit : kBits) {
    if ((reasons & bit.bit) != 0) words.push_back(bit.word);
  }
  return words;
}

void GpuWatch::Mean::Add(double value) {
  sum += value;
  most = std::max(most, value);
  ++count;
}

std::optional<double> GpuWatch::Mean::value() const {
  if (count == 0) return std::nullopt;
  return sum / count;
}

GpuWatch::GpuWatch(std::unique_ptr<Nvml> nvml, NvmlDevice device,
                   std::chrono::milliseconds interval)
    : nvml_(std::move(nvml)),
      device_(device),
      interval_(interval),
      thread_([this] { Run(); }) {}

GpuWatch::~GpuWatch() { Stop(); }

absl::StatusOr<std::unique_ptr<GpuWatch>> GpuWatch::Start(
    const std::vector<std::string>& libraries, unsigned index,
    std::chrono::milliseconds interval) {
  ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, LoadFirst(libraries));
  ASSIGN_OR_RETURN(const NvmlDevice device, DeviceAt(*nvml, index));
  return absl::WrapUnique(new GpuWatch(std::move(nvml), device, interval));
}

void GpuWatch::ReadEngine(NvmlDeviceGetEngineUtilizationFn read, Mean* mean) {
  unsigned percent = 0;
  unsigned period_us = 0;
  if (read == nullptr || read(device_, &percent, &period_us) != 0) return;
  mean->Add(percent / 100.0);
}

void GpuWatch::Read() {
  NvmlUtilization rates = {};
  if (nvml_->device_get_utilization_rates != nullptr &&
      nvml_->device_get_utilization_rates(device_, &rates) == 0) {
    busy_.Add(rates.gpu / 100.0);
    memory_busy_.Add(rates.memory / 100.0);
  }
  ReadEngine(nvml_->device_get_decoder_utilization, &decoder_busy_);
  ReadEngine(nvml_->device_get_jpg_utilization, &jpeg_busy_);
  NvmlMemory memory = {};
  if (nvml_->device_get_memory_info(device_, &memory) == 0) {
    memory_peak_bytes_ = std::max(memory_peak_bytes_.value_or(0),
                                  static_cast<int64_t>(memory.used));
  }
  ++samples_;
}

// The first reading comes after one interval, because the driver reports about
// the time before it.
void GpuWatch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, interval_, [this] { return stop_; })) {
    lock.unlock();
    Read();
    lock.lock();
  }
}

GpuUsage GpuWatch::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    // The watch ended before the first reading.
    if (samples_ == 0) Read();
  }
  GpuUsage use;
  use.samples = samples_;
  use.busy = busy_.value();
  if (busy_.count > 0) use.busy_peak = busy_.most;
  use.memory_busy = memory_busy_.value();
  use.decoder_busy = decoder_busy_.value();
  use.jpeg_busy = jpeg_busy_.value();
  use.memory_peak_bytes = memory_peak_bytes_;
  return use;
}

}  // namespace feedrate
