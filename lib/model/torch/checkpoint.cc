#include "lib/model/torch/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "lib/model/checkpoint_header.h"

namespace feedrate {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

std::string TypeWord(const std::string& path, const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return "f32";
  if (tensor.scalar_type() == at::kLong) return "i64";
  if (tensor.scalar_type() == at::kBFloat16) return "bf16";
  Fail(path, "a checkpoint holds float32, bfloat16 and int64 alone");
}

CheckpointHeader HeaderOf(const std::string& path,
                          const Checkpoint& checkpoint) {
  CheckpointHeader header;
  header.meta = checkpoint.meta;
  for (const auto& entry : checkpoint.tensors) {
    header.tensors.push_back({entry.first, TypeWord(path, entry.second),
                              entry.second.sizes().vec(), 0});
  }
  return header;
}

void WriteAll(int fd, const std::string& path, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const std::string why = std::strerror(errno);
      close(fd);
      unlink(path.c_str());
      Fail(path, "cannot be written: " + why);
    }
    data += written;
    size -= written;
  }
}

}  // namespace

void SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  const std::string header = PrintCheckpointHeader(HeaderOf(path, checkpoint));
  const std::string temporary = path + ".new." + std::to_string(getpid());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) Fail(path, std::string("cannot be made: ") + strerror(errno));
  WriteAll(fd, temporary, header.data(), header.size());
  for (const auto& entry : checkpoint.tensors) {
    const at::Tensor tensor = entry.second.detach().to(at::kCPU).contiguous();
    WriteAll(fd, temporary, static_cast<const char*>(tensor.const_data_ptr()),
             tensor.nbytes());
  }
  if (fsync(fd) != 0 || close(fd) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    unlink(temporary.c_str());
    Fail(path, "cannot be written: " + why);
  }
}

Checkpoint LoadCheckpoint(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(path, "cannot be read; is it there?");
  in.seekg(0, std::ios::end);
  const int64_t file_bytes = in.tellg();
  in.seekg(0);
  CheckpointHeader header;
  const std::string wrong = ReadCheckpointHeader(in, &header);
  if (!wrong.empty()) Fail(path, wrong);
  Checkpoint checkpoint;
  checkpoint.meta = std::move(header.meta);
  int64_t left = file_bytes - static_cast<int64_t>(in.tellg());
  for (const CheckpointTensor& tensor : header.tensors) {
    // Memory is allocated only if the file is long enough.
    if (tensor.bytes > left) Fail(path, "is cut short within " + tensor.name);
    const at::ScalarType type = tensor.type == "f32"   ? at::kFloat
                                : tensor.type == "i64" ? at::kLong
                                                       : at::kBFloat16;
    checkpoint.tensors.emplace_back(tensor.name, at::empty(tensor.shape, type));
    at::Tensor& read = checkpoint.tensors.back().second;
    in.read(static_cast<char*>(read.mutable_data_ptr()), tensor.bytes);
    left -= tensor.bytes;
  }
  if (!in || left != 0) Fail(path, "does not end where it should");
  return checkpoint;
}

void CopyTensors(const NamedTensors& from, const NamedTensors& to) {
  at::AutoGradMode no_grad(false);
  std::map<std::string, at::Tensor> by_name(from.begin(), from.end());
  for (const auto& entry : to) {
    const auto found = by_name.find(entry.first);
    if (found == by_name.end()) {
      throw std::runtime_error("the checkpoint has no " + entry.first);
    }
    if (found->second.sizes() != entry.second.sizes()) {
      throw std::runtime_error("the checkpoint's " + entry.first +
                               " is of another shape");
    }
    entry.second.detach().copy_(found->second);
  }
}

}  // namespace feedrate
