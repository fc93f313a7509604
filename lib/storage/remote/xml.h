// XML, as much as S3 sends.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Called at the end of each element with its path from the root, such as
// "ListBucketResult/Contents/Key", and its own text, with entities resolved and
// without the text of nested elements.
using XmlElement =
    std::function<void(absl::string_view path, const std::string& text)>;

// Parses as much of XML as S3's responses need. Attributes, comments,
// declarations and namespace prefixes are skipped. A document type is refused,
// because custom entities are a known way to exhaust memory. InvalidArgument if
// `document` is not XML.
absl::Status ReadXml(absl::string_view document, const XmlElement& element);

}  // namespace feedrate
