#include "lib/loader/mixture/frame_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {
namespace {

// Zeros around `inner` rows and columns of a frame.
struct Border {
  int before = 0;
  int inner = 0;
};

Border PlaceOf(int size, int wanted, int* from) {
  Border border;
  border.inner = std::min(size, wanted);
  border.before = (wanted - border.inner) / 2;
  *from = (size - border.inner) / 2;
  return border;
}

void ClearAround(const Border& rows, const Border& columns,
                 const FrameShape& shape, uint8_t* out) {
  const size_t stride = size_t{3} * shape.width;
  const int rows_after = shape.height - rows.before - rows.inner;
  std::memset(out, 0, stride * rows.before);
  std::memset(out + stride * (rows.before + rows.inner), 0,
              stride * rows_after);
  if (columns.inner == shape.width) return;
  const size_t left = size_t{3} * columns.before;
  const size_t right = stride - left - size_t{3} * columns.inner;
  for (int y = rows.before; y < rows.before + rows.inner; ++y) {
    uint8_t* const row = out + stride * y;
    std::memset(row, 0, left);
    std::memset(row + stride - right, 0, right);
  }
}

}  // namespace

absl::Status FrameDecoder::Decode(absl::string_view jpeg,
                                  const FrameShape& shape, uint8_t* out) {
  ASSIGN_OR_RETURN(const ImageInfo info, decoder_.Open(jpeg));
  JpegRegion region;
  const Border rows = PlaceOf(info.height, shape.height, &region.y);
  const Border columns = PlaceOf(info.width, shape.width, &region.x);
  region.height = rows.inner;
  region.width = columns.inner;
  const size_t stride = size_t{3} * shape.width;
  RETURN_IF_ERROR(decoder_.Decode(
      region, {}, out + stride * rows.before + size_t{3} * columns.before,
      stride));
  ClearAround(rows, columns, shape, out);
  return absl::OkStatus();
}

}  // namespace feedrate
