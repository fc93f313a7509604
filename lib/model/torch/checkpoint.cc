#include "lib/model/torch/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

#include "lib/hash/sha256.h"
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

std::string ChecksumOf(const CheckpointHeader& header,
                       const std::vector<at::Tensor>& tensors) {
  Sha256 hash;
  const std::string lines = PrintCheckpointLines(header);
  hash.Update(lines.data(), lines.size());
  for (const at::Tensor& tensor : tensors) {
    hash.Update(tensor.const_data_ptr(), tensor.nbytes());
  }
  char hex[Sha256::kHexSize + 1];
  hash.FinishHex(hex);
  return hex;
}

// Opens a file beside `path` that was not there before: another user may have
// left a link under a name that can be guessed.
int OpenNew(const std::string& path, std::string* name) {
  constexpr int kTries = 100;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    *name = path + ".new." + std::to_string(getpid()) + "." +
            std::to_string(random());
    const int fd =
        open(name->c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0) return fd;
    if (errno != EEXIST) break;
  }
  Fail(path, std::string("cannot be made: ") + strerror(errno));
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
  CheckpointHeader header = HeaderOf(path, checkpoint);
  std::vector<at::Tensor> tensors;
  for (const auto& entry : checkpoint.tensors) {
    tensors.push_back(entry.second.detach().to(at::kCPU).contiguous());
  }
  header.sha256 = ChecksumOf(header, tensors);
  const std::string text = PrintCheckpointHeader(header);
  std::string temporary;
  const int fd = OpenNew(path, &temporary);
  WriteAll(fd, temporary, text.data(), text.size());
  for (const at::Tensor& tensor : tensors) {
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
  CheckpointHeader header;
  std::string wrong = CheckCheckpoint(in, &header);
  if (!wrong.empty()) Fail(path, wrong);
  in.clear();
  in.seekg(0, std::ios::end);
  const int64_t file_bytes = in.tellg();
  in.seekg(0);
  header = CheckpointHeader();
  wrong = ReadCheckpointHeader(in, &header);
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
