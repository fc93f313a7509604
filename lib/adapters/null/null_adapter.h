// A library that does nothing: its rows show what the harness itself costs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/timing.h"
#include "lib/media/corpus.h"

namespace feedrate {

// The output has no bytes and must not be compared. `on_device` times it like a
// device, with the CPU in its place.
class NullTransform : public PreparedTransform {
 public:
  explicit NullTransform(bool on_device = false) : on_device_(on_device) {}
  void Seed(uint64_t seed) override {}
  void Run(int64_t item) override;
  absl::StatusOr<Output> RunForOutput(int64_t item) override;
  DeviceProbe* device() override { return on_device_ ? &probe_ : nullptr; }

 private:
  const bool on_device_;
  HostProbe probe_;
};

// Accepts any operation with any parameters.
class NullAdapter : public Adapter {
 public:
  std::string library() const override { return "null"; }
  std::string version() const override { return "1"; }
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> PrepareDecoder(
      const PrepareCommand& spec,
      const std::vector<SourceFile>& files) override;
};

}  // namespace feedrate
