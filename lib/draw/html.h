// A document as one HTML page that needs nothing else.
#ifndef FEEDRATE_LIB_DRAW_HTML_H_
#define FEEDRATE_LIB_DRAW_HTML_H_

#include <string>

#include "lib/draw/document.h"

namespace feedrate {

// Rules and script are inside; nothing is fetched. Without JavaScript all of
// it can be read, and axes switch between linear and logarithmic; with it
// tables sort and filter, marks say more under the pointer, and light and dark
// can be chosen (else the system decides).
std::string ToHtml(const Document& document);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_HTML_H_
