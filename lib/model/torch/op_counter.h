// Counts the matrix products that libtorch really makes.
#ifndef FEEDRATE_LIB_MODEL_TORCH_OP_COUNTER_H_
#define FEEDRATE_LIB_MODEL_TORCH_OP_COUNTER_H_

#include <cstdint>
#include <map>
#include <string>

namespace feedrate {

struct OpCount {
  // Multiplications and additions of all matrix products. The backward pass of
  // attention counts as two forward passes, whatever it computes again.
  int64_t flops = 0;
  // Of these, by operation, such as `mm` and `addmm`.
  std::map<std::string, int64_t> flops_by_op;
  // Products by the type that they ran in, such as `bf16`.
  std::map<std::string, int64_t> products_by_type;
};

// Counts what every thread does while it lives, by shapes at the dispatcher:
// autocast and autograd have done their part by then. One at a time.
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

#endif  // FEEDRATE_LIB_MODEL_TORCH_OP_COUNTER_H_
