// Profiles of training steps: traces by libtorch's Kineto, and counts of matrix
// products.
#pragma once

#include <ATen/record_function.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace feedrate {

struct ProfileOptions {
  // Empty: no files. `trace`: files PREFIX.N.json. `tb`: the layout of the
  // TensorBoard plug-in, files PREFIX/rankR.N.pt.trace.json.
  std::string kind;
  std::string prefix;
  int rank = 0;
  bool cuda = false;
  // Steps per cycle: skipped, profiled but discarded, kept.
  int wait = 0;
  int warmup = 1;
  int active = 1;
  int repeat = 1;
};

// A kernel on CUDA; on the CPU, an operation without those that it calls.
struct KernelTime {
  // The part of the step that ran it: the innermost NamedRange around the
  // operation that launched it, or `other`.
  std::string part;
  std::string name;
  // Shapes of the operation's tensors, such as `276x64, 64x256`.
  std::string shapes;
  double total_s = 0;
  int64_t calls = 0;
  // Share of the time of all kernels of the part.
  double share = 0;
};

// Profiles the requested cycles; must be told when each step starts. c10::Error
// if a file cannot be written.
class TrainProfiler {
 public:
  explicit TrainProfiler(const ProfileOptions& options) : options_(options) {}

  // Call before step `step`, counted from 0, and after the last.
  void BeforeStep(int64_t step);
  void Finish();

  // Number of steps it needs to see.
  int64_t steps() const;
  // Files written.
  const std::vector<std::string>& files() const { return files_; }
  // The 30 kernels with the longest total time over all kept steps, longest
  // first.
  std::vector<KernelTime> TopKernels() const;

 private:
  void Start();
  void Stop(bool keep);

  const ProfileOptions options_;
  bool running_ = false;
  std::vector<std::string> files_;
  // By part, name and shapes.
  std::map<std::array<std::string, 3>, KernelTime> kernels_;
};

// A named range in traces, for the lifetime of the object. Costs almost nothing
// if no profiler runs.
class NamedRange {
 public:
  explicit NamedRange(const char* name) : guard_(at::RecordScope::USER_SCOPE) {
    if (guard_.isActive()) guard_.before(name);
  }

 private:
  at::RecordFunction guard_;
};

struct OpCount {
  // Multiplications and additions of all matrix products and convolutions. The
  // backward pass of attention counts as two forward passes, whatever it
  // recomputes.
  int64_t flops = 0;
  // Number of products by data type, such as `bf16`.
  std::map<std::string, int64_t> products_by_type;
};

// Counts the matrix products that libtorch really makes, on all threads, during
// its lifetime. It reads shapes at the dispatcher, after autocast and autograd.
// Only one may exist at a time.
class OpCounter {
 public:
  OpCounter();
  ~OpCounter();
  OpCounter(const OpCounter&) = delete;
  OpCounter& operator=(const OpCounter&) = delete;

  OpCount Count() const;

 private:
  uint64_t handle_;
};

}  // namespace feedrate
