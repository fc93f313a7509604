#include "lib/loader/cuda/entries_decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using fused::JpegStart;
using fused::JpegTable;
using fused::JpegWork;

constexpr int64_t kAlign = 256;

int DivideUp(int a, int b) { return (a + b - 1) / b; }

int64_t Aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// Of invalid codes, any table.
JpegTable MakeTable(const JpegHuffmanCodes& codes) {
  JpegTable table;
  std::memset(&table, 0, sizeof(table));
  uint32_t code = 0;
  int symbol = 0;
  for (int length = 1; length <= 16; ++length) {
    table.first[length] = symbol - static_cast<int>(code);
    for (int i = 0; i < codes.counts[length] && symbol < 256;
         ++i, ++code, ++symbol) {
      table.symbols[symbol] = codes.symbols[symbol];
      if (length > JpegTable::kWidth || code >= 1u << length) continue;
      const int spare = JpegTable::kWidth - length;
      std::fill_n(table.look + (code << spare), 1 << spare,
                  static_cast<uint16_t>(length << 8 | codes.symbols[symbol]));
    }
    table.past[length] = code << (16 - length);
    code <<= 1;
  }
  return table;
}

}  // namespace

void EntriesDecoder::Clear() {
  work_ = JpegWork();
  pictures_.clear();
  starts_.clear();
  tables_.clear();
  table_codes_.clear();
  codes_bytes_ = plane_bytes_ = 0;
}

// Most files have the same few.
int EntriesDecoder::TableOf(const JpegHuffmanCodes& codes) {
  int symbols = 0;
  for (int length = 1; length <= 16; ++length) symbols += codes.counts[length];
  std::string own(reinterpret_cast<const char*>(codes.counts) + 1, 16);
  own.append(reinterpret_cast<const char*>(codes.symbols),
             std::min(symbols, 256));
  const auto found = std::find(table_codes_.begin(), table_codes_.end(), own);
  const auto index = static_cast<int>(found - table_codes_.begin());
  if (found == table_codes_.end()) {
    table_codes_.push_back(std::move(own));
    tables_.push_back(MakeTable(codes));
  }
  return index;
}

void EntriesDecoder::PlacePicture(const JpegBaselinePicture& picture,
                                  int first_row, int end_row) {
  fused::JpegRows& rows = pictures_.emplace_back();
  rows.width = picture.width;
  rows.components = picture.components;
  if (picture.components == 3) {
    rows.horizontal = picture.component[0].horizontal;
    rows.vertical = picture.component[0].vertical;
  }
  rows.height = std::min(picture.height, 8 * rows.vertical * end_row) -
                8 * rows.vertical * first_row;
  rows.mcus_across = DivideUp(picture.width, 8 * rows.horizontal);
  rows.mcus = rows.mcus_across * (end_row - first_row);
  rows.first_block = work_.blocks;
  for (int c = 0; c < picture.components; ++c) {
    const JpegBaselineComponent& component = picture.component[c];
    rows.tables[c][0] = TableOf(component.dc);
    rows.tables[c][1] = TableOf(component.ac);
    std::copy_n(component.quantization, 64, rows.factors[c]);
    rows.strides[c] = 8 * rows.mcus_across * (c == 0 ? rows.horizontal : 1);
    rows.planes[c] = plane_bytes_;
    plane_bytes_ +=
        Aligned(int64_t{rows.strides[c]} * 8 * (end_row - first_row) *
                (c == 0 ? rows.vertical : 1));
  }
  const int blocks =
      rows.mcus * (rows.horizontal * rows.vertical + picture.components - 1);
  work_.blocks += blocks;
  work_.most_blocks = std::max(work_.most_blocks, blocks);
  work_.most_width = std::max(work_.most_width, rows.width);
  work_.most_height = std::max(work_.most_height, rows.height);
}

bool EntriesDecoder::Add(absl::string_view file, absl::string_view entries,
                         int width, int height, int top, int end,
                         Rows* wanted) {
  if (!headers_.Open(file).ok() || !headers_.GetBaseline(&picture_) ||
      picture_.width != width || picture_.height != height ||
      picture_.restart_every > 0 || top < 0 || top >= end || end > height ||
      !UnpackJpegEntries(entries, picture_.components,
                         JpegBaselineRegion::CountMcus(picture_),
                         picture_.codes_bytes, &entries_)) {
    return false;
  }
  for (int c = 0; c < picture_.components; ++c) {
    const JpegBaselineComponent& component = picture_.component[c];
    if (component.quantization == nullptr || component.dc.counts == nullptr ||
        component.ac.counts == nullptr) {
      return false;
    }
  }
  const bool is_gray = picture_.components == 1;
  const int across = is_gray ? 1 : picture_.component[0].horizontal;
  const int down = is_gray ? 1 : picture_.component[0].vertical;
  // Colors between two rows need those of both.
  const int margin = down - 1;
  const int first_row = std::max(0, top - margin) / (8 * down);
  const int end_row =
      DivideUp(std::min(picture_.height, end + margin), 8 * down);
  const int64_t mcus_across = DivideUp(picture_.width, 8 * across);
  const int64_t first_mcu = first_row * mcus_across;
  const int64_t end_mcu = end_row * mcus_across;
  const int64_t every = entries_.every;
  const auto from = static_cast<size_t>(first_mcu / every);
  const size_t to = std::min(static_cast<size_t>((end_mcu + every - 1) / every),
                             entries_.entries.size());
  const auto byte_of = [&](size_t entry) -> size_t {
    return entry < entries_.entries.size()
               // The byte in which it begins may be a stuffed one.
               ? std::min<size_t>(entries_.entries[entry].byte + 2,
                                  picture_.codes_bytes)
               : picture_.codes_bytes;
  };
  const size_t begin = entries_.entries[from].byte;
  const auto bytes = static_cast<int64_t>(byte_of(to) - begin);
  const int64_t needed = codes_bytes_ + bytes;
  if (needed > std::numeric_limits<uint32_t>::max()) return false;
  if (needed > codes_.bytes() &&
      !codes_.ReserveKeeping(2 * needed, codes_bytes_).ok()) {
    return false;
  }
  std::memcpy(codes_.data() + codes_bytes_, picture_.codes + begin, bytes);
  const auto offset = static_cast<uint32_t>(codes_bytes_ - begin);
  const auto number = static_cast<int>(pictures_.size());
  PlacePicture(picture_, first_row, end_row);
  for (size_t e = from; e < std::min(to + 1, entries_.entries.size()); ++e) {
    const JpegEntry& entry = entries_.entries[e];
    const int64_t mcu = static_cast<int64_t>(e) * every;
    JpegStart& start = starts_.emplace_back();
    // Modulo 2^32, like the offset.
    start.byte = offset + entry.byte;
    start.end = offset + static_cast<uint32_t>(byte_of(e + 1));
    start.picture = number;
    start.first_mcu = static_cast<int>(mcu - first_mcu);
    // To the next start, also behind the rows: it is compared with that.
    start.mcus = static_cast<int>(std::min(mcu + every, entries_.mcus) - mcu);
    std::copy_n(entry.last_dc, 3, start.last_dc);
    start.bit = entry.bit;
    if (e == to) start.mcus = 0;
  }
  codes_bytes_ = needed;
  *wanted = {8 * down * first_row, pictures_.back().height};
  return true;
}

absl::StatusOr<std::vector<int>> EntriesDecoder::Decode(
    const std::vector<uint8_t*>& rgb, cudaStream_t stream, cudaEvent_t done) {
  std::vector<int> wrong;
  if (pictures_.empty()) return wrong;
  const int count = static_cast<int>(pictures_.size());
  absl::Status decoded = Enqueue(rgb, stream);
  decoded.Update(CudaStatus(cudaEventRecord(done, stream), "cudaEventRecord"));
  // What was enqueued before a failure still reads this memory.
  decoded.Update(CudaStatus(cudaEventSynchronize(done), "the decoder"));
  Clear();
  RETURN_IF_ERROR(decoded);
  for (int i = 0; i < count; ++i) {
    if (wrong_.data()[i] != 0) wrong.push_back(i);
  }
  return wrong;
}

absl::Status EntriesDecoder::Enqueue(const std::vector<uint8_t*>& rgb,
                                     cudaStream_t stream) {
  for (size_t i = 0; i < pictures_.size(); ++i) pictures_[i].rgb = rgb[i];
  const auto bytes_of = [](const auto& list) {
    return static_cast<int64_t>(list.size() * sizeof(list[0]));
  };
  const int64_t pictures_at = Aligned(bytes_of(tables_));
  const int64_t starts_at = pictures_at + Aligned(bytes_of(pictures_));
  const int64_t list_bytes = starts_at + Aligned(bytes_of(starts_));
  RETURN_IF_ERROR(lists_.Reserve(list_bytes));
  std::memcpy(lists_.data(), tables_.data(), bytes_of(tables_));
  std::memcpy(lists_.data() + pictures_at, pictures_.data(),
              bytes_of(pictures_));
  std::memcpy(lists_.data() + starts_at, starts_.data(), bytes_of(starts_));
  const auto count = static_cast<int64_t>(pictures_.size());
  const int64_t wrong_at = list_bytes + Aligned(codes_bytes_);
  RETURN_IF_ERROR(wrong_.Reserve(count));
  RETURN_IF_ERROR(input_.Reserve(wrong_at + count));
  RETURN_IF_ERROR(
      coefficients_.Reserve(work_.blocks * 64 * int64_t{sizeof(int16_t)}));
  RETURN_IF_ERROR(planes_.Reserve(plane_bytes_));
  const auto copy = [&](int64_t at, const PinnedBlock& from, int64_t bytes) {
    return CudaStatus(cudaMemcpyAsync(input_.data() + at, from.data(), bytes,
                                      cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync");
  };
  RETURN_IF_ERROR(copy(0, lists_, list_bytes));
  RETURN_IF_ERROR(copy(list_bytes, codes_, codes_bytes_));
  work_.tables = reinterpret_cast<const JpegTable*>(input_.data());
  work_.pictures =
      reinterpret_cast<const fused::JpegRows*>(input_.data() + pictures_at);
  work_.starts = reinterpret_cast<const JpegStart*>(input_.data() + starts_at);
  work_.codes = input_.data() + list_bytes;
  work_.coefficients = reinterpret_cast<int16_t*>(coefficients_.data());
  work_.planes = planes_.data();
  work_.wrong = input_.data() + wrong_at;
  work_.count = static_cast<int>(count);
  work_.num_starts = static_cast<int>(starts_.size());
  RETURN_IF_ERROR(
      CudaStatus(DecodeJpegRows(work_, stream), "the decoder's launch"));
  return CudaStatus(cudaMemcpyAsync(wrong_.data(), work_.wrong, count,
                                    cudaMemcpyDeviceToHost, stream),
                    "cudaMemcpyAsync");
}

}  // namespace feedrate
