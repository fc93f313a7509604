#include "lib/model/worker/exported_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <fstream>
#include <stdexcept>
#include <vector>

#include "lib/base/files.h"
#include "lib/model/safetensors.h"

namespace feedrate {
namespace {

void Check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

}  // namespace

void ExportWeights(const std::string& path, const ModelSpec& spec,
                   const NamedTensors& weights,
                   const std::map<std::string, std::string>& about) {
  SafetensorsHeader header;
  header.metadata = about;
  header.metadata["format"] = "pt";
  header.metadata["model"] = spec.name;
  header.metadata["heads"] = std::to_string(spec.heads);
  if (spec.kind == ModelKind::kVit) {
    header.metadata["patch_size"] = std::to_string(spec.patch_size);
  }
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : weights) {
    SafetensorsTensor tensor;
    tensor.name = ModuleNameOf(name);
    tensor.type = "F32";
    tensor.shape = value.sizes().vec();
    header.tensors.push_back(tensor);
    values.push_back(value.detach().to(at::kCPU, at::kFloat).contiguous());
  }
  auto file = NewFile::Create(path);
  Check(file.status());
  Check(WriteAll((*file)->fd(), PrintSafetensorsHeader(header), path));
  for (const at::Tensor& value : values) {
    Check(WriteAll((*file)->fd(),
                   {static_cast<const char*>(value.const_data_ptr()),
                    static_cast<size_t>(value.nbytes())},
                   path));
  }
  Check((*file)->Commit());
}

void ImportWeights(const std::string& path, const Model& model) {
  const auto bytes = PlainFileBytes(path);
  Check(bytes.status());
  std::ifstream in(path, std::ios::binary);
  SafetensorsHeader header;
  std::string wrong = ReadSafetensorsHeader(in, *bytes, &header);
  if (wrong.empty()) wrong = CheckWeights(header, model.spec());
  if (!wrong.empty()) throw std::runtime_error(path + ": " + wrong);
  std::map<std::string, at::Tensor> read;
  for (const SafetensorsTensor& tensor : header.tensors) {
    const at::Tensor value = at::empty(tensor.shape, at::kFloat);
    in.read(static_cast<char*>(value.mutable_data_ptr()), tensor.bytes);
    read[tensor.name] = value;
  }
  if (!in) throw std::runtime_error(path + ": cannot be read");
  const at::AutoGradMode no_grad(false);
  for (const Parameter& parameter : model.parameters()) {
    parameter.value.detach().copy_(read.at(ModuleNameOf(parameter.name)));
  }
}

}  // namespace feedrate
