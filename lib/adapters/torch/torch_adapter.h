// ATen, torch's tensor library, called from C++.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Needs a corpus of uint8 CHW images. Each output is a new tensor, as in every
// program that uses torch.
class TorchAdapter : public Adapter {
 public:
  using MakeProbe =
      std::function<absl::StatusOr<std::unique_ptr<DeviceProbe>>()>;

  TorchAdapter();
  // Jobs for cuda run on `device` (torch's name for it), timed by the result of
  // `make_probe`. Tests use the CPU.
  TorchAdapter(MakeProbe make_probe, std::string device)
      : make_probe_(std::move(make_probe)), device_(std::move(device)) {}

  std::string library() const override { return "torch"; }
  std::string version() const override;
  int threads() const override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;

 private:
  const MakeProbe make_probe_;
  const std::string device_;
};

}  // namespace feedrate
