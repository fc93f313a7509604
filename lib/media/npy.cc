#include "lib/media/npy.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

using View = absl::string_view;

constexpr View kMagic("\x93NUMPY\x01\x00", 8);

absl::Status Bad(const char* what) { return absl::InvalidArgumentError(what); }

// What stands between `left` and the next `right`.
View Between(View text, View left, View right) {
  const size_t start = text.find(left);
  if (start == View::npos) return View();
  text.remove_prefix(start + left.size());
  return text.substr(0, text.find(right));
}

}  // namespace

bool IsNpy(View bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<NpyView> ViewNpy(View file) {
  if (file.size() < 10 || !IsNpy(file)) {
    return Bad("no array of numpy, version 1");
  }
  const size_t header_size =
      static_cast<uint8_t>(file[8]) + 256 * static_cast<uint8_t>(file[9]);
  if (file.size() < 10 + header_size) return Bad("the header is cut off");
  const View header = file.substr(10, header_size);
  if (!absl::StrContains(header, "'fortran_order': False")) {
    return Bad("the array is not in C order");
  }
  NpyView array;
  const View type = Between(header, "'descr': '", "'");
  if (type == "|u1") array.dtype = "uint8";
  if (type == "<f4") array.dtype = "float32";
  if (array.dtype.empty()) return Bad("neither uint8 nor float32");
  int64_t bytes = array.dtype == "uint8" ? 1 : 4;
  const View shape = Between(header, "'shape': (", ")");
  for (View size : absl::StrSplit(shape, ',', absl::SkipWhitespace())) {
    int number = 0;
    if (!absl::SimpleAtoi(size, &number) || number < 0 || number > 1 << 16) {
      return Bad("the shape is not understood");
    }
    array.shape.push_back(number);
    bytes *= number;
    if (bytes > int64_t{1} << 32) return Bad("the array is too large");
  }
  file.remove_prefix(10 + header_size);
  if (static_cast<int64_t>(file.size()) != bytes) {
    return Bad("the data has another size than the shape");
  }
  array.data = file;
  return array;
}

}  // namespace feedrate
