// Files whose structure is damaged, drawn from any bytes: a part is decoded to
// libjpeg-turbo's pixels, or refused as by libjpeg-turbo.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "lib/media/jpeg/test_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::DamageResult;
  const absl::string_view draws(reinterpret_cast<const char*>(data), size);
  const DamageResult result =
      feedrate::DecodeDamaged(feedrate::DrawDamagedJpeg(draws));
  if (result >= DamageResult::kOtherPixels) std::abort();
  return 0;
}
