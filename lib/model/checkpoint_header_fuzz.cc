// Two tests with the same bytes. Read as a file, they are refused, or the
// header gives the same again after printing and reading it, and its sizes are
// those of the shapes. Read as decisions, they make a header whose content is
// known, maybe with sizes that no file has; exactly that content is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "lib/model/checkpoint_header.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

int BytesOfType(const std::string& type) {
  return type == "i64" ? 8 : type == "f32" ? 4 : 2;
}

// Aborts unless the sizes are products of the shapes.
void CheckSizes(const CheckpointHeader& header) {
  for (const CheckpointTensor& tensor : header.tensors) {
    // More bits than any product of four allowed sizes.
    long double bytes = BytesOfType(tensor.type);
    for (const int64_t size : tensor.shape) bytes *= size;
    if (tensor.bytes < 0 || bytes != tensor.bytes) std::abort();
  }
}

void ReadAnything(const std::string& bytes) {
  std::istringstream in(bytes);
  CheckpointHeader header;
  if (!ReadCheckpointHeader(in, &header).empty()) return;
  CheckSizes(header);
  const std::string once = PrintCheckpointHeader(header);
  std::istringstream printed(once);
  CheckpointHeader again;
  if (!ReadCheckpointHeader(printed, &again).empty()) std::abort();
  if (PrintCheckpointHeader(again) != once) std::abort();
}

// Any bytes but those that separate words.
std::string Word(Decisions* decisions) {
  std::string word = "w" + decisions->Bytes(6);
  std::replace_if(
      word.begin(), word.end(),
      [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }, '_');
  return word;
}

CheckpointTensor Tensor(int number, Decisions* decisions, bool* is_right) {
  static constexpr const char* kTypes[] = {"f32", "bf16", "i64"};
  static constexpr int64_t kSizes[] = {0,
                                       1,
                                       3,
                                       384,
                                       int64_t{1} << 16,
                                       int64_t{1} << 28,
                                       int64_t{1} << 46,
                                       int64_t{1} << 62};
  CheckpointTensor tensor;
  tensor.name = Word(decisions) + "." + std::to_string(number);
  tensor.type = kTypes[decisions->Below(3)];
  // Without the empty sizes, since strides are products of the others.
  long double bytes = BytesOfType(tensor.type);
  for (uint32_t left = decisions->Below(6); left > 0; --left) {
    tensor.shape.push_back(kSizes[decisions->Below(8)]);
    bytes *= std::max<int64_t>(1, tensor.shape.back());
  }
  if (tensor.shape.size() > 4 || bytes > 0x1p46) *is_right = false;
  return tensor;
}

void ReadWhatIsKnown(Decisions* decisions) {
  CheckpointHeader header;
  bool is_right = true;
  if (decisions->Yes()) header.sha256 = std::string(64, 'a');
  for (uint32_t left = decisions->Below(4); left > 0; --left) {
    header.meta[Word(decisions)] = Word(decisions) + " " + Word(decisions);
  }
  for (int i = static_cast<int>(decisions->Below(4)); i > 0; --i) {
    header.tensors.push_back(Tensor(i, decisions, &is_right));
  }
  std::string text = PrintCheckpointHeader(header) + "0123";
  const size_t whole = text.size() - 4;
  const bool is_cut = decisions->Yes();
  if (is_cut) text.resize(decisions->Below(1 << 16) % whole);
  std::istringstream in(text);
  CheckpointHeader read;
  const std::string wrong = ReadCheckpointHeader(in, &read);
  // Without its last newline the header is still complete.
  if (text.size() + 1 < whole) is_right = false;
  if (wrong.empty() != is_right) std::abort();
  if (!wrong.empty()) return;
  CheckSizes(read);
  if (!is_cut && static_cast<size_t>(in.tellg()) != whole) std::abort();
  if (PrintCheckpointHeader(read) != PrintCheckpointHeader(header)) {
    std::abort();
  }
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::ReadAnything(
      std::string(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
