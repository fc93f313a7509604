// Two tests with the same bytes. Read as an index, with a right checksum at the
// end, every member that is accepted lies within the shard. Read as decisions,
// they make an index that is known; exactly that is read, unless a member does
// not fit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/storage/checksum.h"
#include "lib/storage/shards.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void ReadAnything(absl::string_view bytes) {
  ParseShardIndex(bytes).IgnoreError();
  std::string text = absl::StrCat("feedrate-shard-index 1\t", bytes, "\n");
  absl::StrAppendFormat(&text, "crc32c\t%08x\n", Crc32c(text));
  const auto index = ParseShardIndex(text);
  if (!index.ok()) return;
  for (const ShardMember& member : index->members) {
    if (member.offset < 0 || member.bytes < 0 || member.offset > index->bytes ||
        member.bytes > index->bytes - member.offset) {
      std::abort();
    }
  }
}

int64_t Size(Decisions* decisions) {
  static constexpr int64_t kEdges[] = {0,
                                       -1,
                                       int64_t{1} << 40,
                                       int64_t{1} << 62,
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min()};
  return decisions->Below(16) == 15 ? kEdges[decisions->Below(6)]
                                    : decisions->Below(4096);
}

void ReadWhatIsKnown(Decisions* decisions) {
  ShardIndex index;
  index.bytes = Size(decisions);
  index.crc32c = decisions->Below(1 << 24);
  bool fits = true;
  for (uint32_t left = decisions->Below(5); left > 0; --left) {
    ShardMember& member = index.members.emplace_back();
    member.name = absl::StrCat("m", decisions->Below(1000), ".jpg");
    member.offset = Size(decisions);
    member.bytes = Size(decisions);
    member.crc32c = decisions->Below(1 << 24);
    fits = fits && member.offset >= 0 && member.bytes >= 0 &&
           member.offset <= index.bytes &&
           member.bytes <= index.bytes - member.offset;
  }
  const auto read = ParseShardIndex(PrintShardIndex(index));
  if (read.ok() != fits) std::abort();
  if (fits && PrintShardIndex(*read) != PrintShardIndex(index)) std::abort();
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::ReadAnything({reinterpret_cast<const char*>(data), size});
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
