// Entries as somebody may write them, separated by empty lines. An entry has
// the operation in its first line and one parameter in each further line.
// MakeOp must return either an operation or a message. The operation is not
// run, since a size may ask for any amount of memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/ops/opencv/op.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (absl::string_view entry : absl::StrSplit(text, "\n\n")) {
    std::vector<std::string> lines = absl::StrSplit(entry, '\n');
    feedrate::TransformSpec spec;
    spec.native_op = lines.front();
    spec.params.assign(lines.begin() + 1, lines.end());
    const absl::StatusOr<feedrate::Op> op = feedrate::MakeOp(spec);
    if (op.ok()) {
      CHECK(*op != nullptr) << spec.native_op;
    } else {
      CHECK(!op.status().message().empty());
    }
  }
  return 0;
}
