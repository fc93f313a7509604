#include "lib/storage/tfrecord.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/storage/crc32c.h"
#include "lib/storage/little_endian.h"

namespace feedrate {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kChecksumBytes = 4;
constexpr size_t kHeadBytes = kLengthBytes + kChecksumBytes;
static_assert(kHeadBytes == kTfRecordHeadBytes);
static_assert(kChecksumBytes == kTfRecordTailBytes);

}  // namespace

void AppendTfRecord(absl::string_view data, std::string* out) {
  const size_t start = out->size();
  AppendLittleEndian64(data.size(), out);
  const uint32_t checksum =
      MaskedCrc32c(absl::string_view(*out).substr(start, kLengthBytes));
  AppendLittleEndian32(checksum, out);
  absl::StrAppend(out, data);
  AppendLittleEndian32(MaskedCrc32c(data), out);
}

absl::Status TfRecordCursor::Damage(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(name_, ": record ", count_,
                                          " at byte ", offset_, ": ", what));
}

absl::StatusOr<std::optional<absl::string_view>> TfRecordCursor::Advance(
    bool checks_data) {
  if (!can_go_on_ || offset_ == static_cast<int64_t>(bytes_.size())) {
    return std::nullopt;
  }
  const absl::string_view rest = bytes_.substr(offset_);
  can_go_on_ = false;
  if (rest.size() < kHeadBytes) return Damage("the file ends in its length");
  const absl::string_view length_bytes = rest.substr(0, kLengthBytes);
  if (LittleEndian32(rest.data() + kLengthBytes) !=
      MaskedCrc32c(length_bytes)) {
    return Damage(
        "wrong checksum of its length; not a TFRecord file, or damaged");
  }
  const uint64_t length = LittleEndian64(rest.data());
  const uint64_t behind_head = rest.size() - kHeadBytes;
  if (behind_head < kChecksumBytes || length > behind_head - kChecksumBytes) {
    return Damage(absl::StrCat("cut off: ", length,
                               " bytes of data, the file has ", behind_head,
                               " more"));
  }
  can_go_on_ = true;
  const absl::string_view data = rest.substr(kHeadBytes, length);
  const bool is_right = !checks_data || LittleEndian32(data.data() + length) ==
                                            MaskedCrc32c(data);
  const absl::Status damage =
      is_right ? absl::OkStatus() : Damage("wrong checksum of its data");
  offset_ += kHeadBytes + length + kChecksumBytes;
  ++count_;
  if (!is_right) return damage;
  return data;
}

absl::StatusOr<std::optional<absl::string_view>> TfRecordCursor::Next() {
  return Advance(/*checks_data=*/true);
}

absl::StatusOr<std::optional<absl::string_view>>
TfRecordCursor::NextUnchecked() {
  return Advance(/*checks_data=*/false);
}

}  // namespace feedrate
