// Any entry that somebody may write: the operation in the first line, one
// parameter in each further one. Either a message that names something, or an
// operation; its application is left out, since a size may ask for any memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/adapters/opencv/make_op.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  feedrate::TransformSpec spec;
  spec.native_op = lines.front();
  spec.params.assign(lines.begin() + 1, lines.end());
  const absl::StatusOr<feedrate::Op> op = feedrate::MakeOp(spec);
  if (op.ok()) {
    CHECK(*op != nullptr) << spec.native_op;
  } else {
    CHECK(!op.status().message().empty());
  }
  return 0;
}
