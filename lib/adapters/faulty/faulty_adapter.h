// A library that misbehaves on purpose, for tests of the runner. faults.h says
// what it can do.
#ifndef FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTY_ADAPTER_H_
#define FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTY_ADAPTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

class FaultyAdapter : public Adapter {
 public:
  std::string library() const override { return "faulty"; }
  std::string version() const override { return "1"; }
  // `native_op` is the name of the fault.
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) override;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTY_ADAPTER_H_
