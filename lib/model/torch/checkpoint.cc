#include "lib/model/torch/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace feedrate {
namespace {

constexpr char kFirstLine[] = "feedrate_checkpoint 1";

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

std::string TypeWord(const std::string& path, const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return "f32";
  if (tensor.scalar_type() == at::kLong) return "i64";
  if (tensor.scalar_type() == at::kBFloat16) return "bf16";
  Fail(path, "a checkpoint holds float32, bfloat16 and int64 alone");
}

std::string ShapeWord(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return "-";
  std::string word;
  for (const int64_t size : tensor.sizes()) {
    word += (word.empty() ? "" : ",") + std::to_string(size);
  }
  return word;
}

std::string Header(const std::string& path, const Checkpoint& checkpoint) {
  std::ostringstream header;
  header << kFirstLine << '\n';
  for (const auto& entry : checkpoint.meta) {
    header << "meta " << entry.first << ' ' << entry.second << '\n';
  }
  for (const auto& entry : checkpoint.tensors) {
    header << "tensor " << entry.first << ' ' << TypeWord(path, entry.second)
           << ' ' << ShapeWord(entry.second) << '\n';
  }
  header << "data\n";
  return header.str();
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

std::vector<int64_t> ParseShape(const std::string& path,
                                const std::string& word) {
  std::vector<int64_t> shape;
  if (word == "-") return shape;
  std::istringstream in(word);
  std::string size;
  while (std::getline(in, size, ',')) {
    char* end = nullptr;
    const int64_t value = std::strtoll(size.c_str(), &end, 10);
    // Larger than any layer, small enough that products do not overflow.
    if (size.empty() || *end != '\0' || value < 0 || value > (1 << 28)) {
      Fail(path, "\"" + word + "\" is no shape");
    }
    shape.push_back(value);
  }
  if (shape.empty() || shape.size() > 4) {
    Fail(path, "\"" + word + "\" is no shape");
  }
  return shape;
}

// Parses a line of the header. Returns false at its end.
bool ParseLine(const std::string& path, const std::string& line,
               Checkpoint* checkpoint) {
  if (line == "data") return false;
  std::istringstream in(line);
  std::string kind, name;
  in >> kind >> name;
  if (kind == "meta" && !name.empty()) {
    std::string value;
    std::getline(in >> std::ws, value);
    checkpoint->meta[name] = value;
    return true;
  }
  std::string type, shape, more;
  in >> type >> shape;
  static const std::map<std::string, at::ScalarType> types = {
      {"f32", at::kFloat}, {"bf16", at::kBFloat16}, {"i64", at::kLong}};
  const auto known = types.find(type);
  if (kind != "tensor" || known == types.end() || in >> more) {
    Fail(path, "\"" + line.substr(0, 80) + "\" is no line of a checkpoint");
  }
  checkpoint->tensors.emplace_back(name, at::empty({0}, known->second));
  const std::vector<int64_t> sizes = ParseShape(path, shape);
  // Only the shape for now: memory is allocated once the file is known to be
  // long enough.
  at::Tensor& tensor = checkpoint->tensors.back().second;
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return true;
}

}  // namespace

void SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  const std::string header = Header(path, checkpoint);
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
  std::string line;
  if (!std::getline(in, line) || line != kFirstLine) {
    Fail(path, "is no checkpoint of feedrate");
  }
  Checkpoint checkpoint;
  bool more = true;
  while (more) {
    if (!std::getline(in, line)) Fail(path, "ends within its header");
    more = ParseLine(path, line, &checkpoint);
  }
  int64_t left = file_bytes - static_cast<int64_t>(in.tellg());
  for (auto& entry : checkpoint.tensors) {
    const int64_t bytes = entry.second.numel() * entry.second.itemsize();
    if (bytes > left) Fail(path, "is cut short within " + entry.first);
    entry.second = at::empty(entry.second.sizes(), entry.second.options());
    in.read(static_cast<char*>(entry.second.mutable_data_ptr()), bytes);
    left -= bytes;
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
