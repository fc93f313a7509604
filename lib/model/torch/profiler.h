// Traces of training steps by libtorch's Kineto.
#ifndef FEEDRATE_LIB_MODEL_TORCH_PROFILER_H_
#define FEEDRATE_LIB_MODEL_TORCH_PROFILER_H_

#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

struct ProfileOptions {
  // ``: none. `trace`: files PREFIX.N.json. `tb`: the layout of TensorBoard's
  // plug-in, files PREFIX/rankR.N.pt.trace.json.
  std::string kind;
  std::string prefix;
  int rank = 0;
  bool cuda = false;
  // Steps of one cycle: let go by, profiled but thrown away, kept.
  int wait = 1;
  int warmup = 1;
  int active = 3;
  int repeat = 1;
};

// A kernel on CUDA; an operation without those that it calls on the CPU.
struct KernelTime {
  std::string name;
  double total_s = 0;
  int64_t calls = 0;
};

// Told of each step's beginning, it profiles the cycles asked for. c10::Error
// when a file cannot be written.
class Profiler {
 public:
  explicit Profiler(const ProfileOptions& options) : options_(options) {}

  // Before step `step`, from 0 on, and after the last.
  void BeforeStep(int64_t step);
  void Finish();

  // Steps that it needs to see.
  int64_t steps() const;
  // Files written.
  const std::vector<std::string>& files() const { return files_; }
  // The 30 kernels that took longest over all kept steps, longest first.
  std::vector<KernelTime> TopKernels() const;

 private:
  void Start();
  void Stop(bool keep);

  const ProfileOptions options_;
  bool running_ = false;
  std::vector<std::string> files_;
  std::vector<KernelTime> kernels_;
};

// A named range in traces, from here to its end. Costs next to nothing when
// nobody profiles.
class NamedRange {
 public:
  explicit NamedRange(const char* name) : guard_(at::RecordScope::USER_SCOPE) {
    if (guard_.isActive()) guard_.before(name);
  }

 private:
  at::RecordFunction guard_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_PROFILER_H_
