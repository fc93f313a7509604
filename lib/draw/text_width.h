// How wide a text will be, without a font at hand.
#ifndef FEEDRATE_LIB_DRAW_TEXT_WIDTH_H_
#define FEEDRATE_LIB_DRAW_TEXT_WIDTH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// Width of `text` in a sans-serif of `size`, from the widths that Helvetica,
// Arial and Liberation Sans share; rounded up a little, because another font
// may be wider.
double TextWidth(absl::string_view text, double size);

// `text`, with an ellipsis in its middle when it is wider than `width`.
std::string TextToFit(absl::string_view text, double size, double width);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_TEXT_WIDTH_H_
