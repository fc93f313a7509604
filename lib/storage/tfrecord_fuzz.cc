// Three tests with the same bytes. Read as an Example, reading ends and what it
// finds is within the bytes. Read as a file, iterating ends and stays
// within them, and each record is one that the writer would have written there.
// Read as decisions, they make a file whose records and damage are known; every
// record before the damage is found, and what is damaged is not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/storage/checksum.h"
#include "lib/storage/tfrecord.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void ReadAnything(absl::string_view bytes) {
  TfRecordCursor cursor("f", bytes);
  for (;;) {
    const int64_t start = cursor.offset();
    const auto record = cursor.Next();
    if (!record.ok()) {
      if (cursor.can_go_on() && cursor.offset() <= start) std::abort();
      continue;
    }
    if (!record->has_value()) return;
    std::string again;
    AppendTfRecord(**record, &again);
    if (bytes.substr(start, again.size()) != again) std::abort();
  }
}

void ReadExample(absl::string_view bytes) {
  ExampleView view;
  if (!view.Parse(bytes).ok()) return;
  for (const absl::string_view name : view.names()) {
    std::vector<absl::string_view> strings;
    std::vector<float> floats;
    std::vector<int64_t> integers;
    if (view.Bytes(name, &strings).ok()) {
      for (const absl::string_view text : strings) {
        if (text.data() < bytes.data() ||
            text.data() + text.size() > bytes.data() + bytes.size()) {
          std::abort();
        }
      }
    }
    view.Floats(name, &floats).IgnoreError();
    view.Integers(name, &integers).IgnoreError();
    if (floats.size() * 4 > bytes.size() || integers.size() > bytes.size()) {
      std::abort();
    }
  }
}

enum class Damage { kNone, kData, kHead, kLength, kCut };

// A head that is right but for its length, which is more than there is.
std::string LyingHead(Decisions* decisions) {
  static constexpr uint64_t kLengths[] = {
      1000,
      uint64_t{1} << 31,
      uint64_t{1} << 40,
      uint64_t{1} << 62,
      uint64_t{1} << 63,
      std::numeric_limits<uint64_t>::max() - 16,
      std::numeric_limits<uint64_t>::max() - 3,
      std::numeric_limits<uint64_t>::max()};
  std::string head;
  AppendLittleEndian64(kLengths[decisions->Below(8)], &head);
  AppendLittleEndian32(MaskedCrc32c(head), &head);
  return head;
}

void ReadWhatIsKnown(Decisions* decisions) {
  std::string file;
  std::vector<std::string> records;
  std::vector<Damage> damages;
  for (uint32_t left = decisions->Below(5); left > 0; --left) {
    const std::string data = decisions->Bytes(50);
    std::string record;
    AppendTfRecord(data, &record);
    const Damage damage = static_cast<Damage>(
        decisions->Below(12) < 8 ? 0 : 1 + decisions->Below(4));
    const size_t bit = decisions->Below(8);
    const size_t behind = record.size() - kTfRecordHeadBytes;
    if (damage == Damage::kData) {
      record[kTfRecordHeadBytes + decisions->Below(behind)] ^= 1 << bit;
    } else if (damage == Damage::kHead) {
      record[decisions->Below(kTfRecordHeadBytes)] ^= 1 << bit;
    } else if (damage == Damage::kLength) {
      record = LyingHead(decisions) + data;
    } else if (damage == Damage::kCut) {
      record.resize(1 + decisions->Below(record.size() - 1));
    }
    file += record;
    records.push_back(data);
    damages.push_back(damage);
    if (damage == Damage::kLength || damage == Damage::kCut) break;
  }
  TfRecordCursor cursor("f", file);
  for (size_t i = 0; i < records.size(); ++i) {
    const auto record = cursor.Next();
    if (record.ok() != (damages[i] == Damage::kNone)) std::abort();
    if (record.ok() && (!record->has_value() || **record != records[i])) {
      std::abort();
    }
    if (damages[i] <= Damage::kData) continue;
    // Nobody knows where the next record starts.
    if (cursor.can_go_on()) std::abort();
    break;
  }
  const auto end = cursor.Next();
  if (!end.ok() || end->has_value()) std::abort();
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  feedrate::ReadExample(bytes);
  feedrate::ReadAnything(bytes);
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
