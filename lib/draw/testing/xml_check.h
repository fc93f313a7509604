// Whether XML is well formed, for tests of what is drawn.
#ifndef FEEDRATE_LIB_DRAW_TESTING_XML_CHECK_H_
#define FEEDRATE_LIB_DRAW_TESTING_XML_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// OK when tags of `xml` nest, attributes are quoted and unique, and text holds
// no stray `<` or `&`. Knows what our drawings use: no CDATA, no DTD.
absl::Status CheckXml(absl::string_view xml);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_TESTING_XML_CHECK_H_
