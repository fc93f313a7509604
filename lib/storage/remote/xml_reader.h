// As much of XML as the answers of S3 need.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_XML_READER_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_XML_READER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Called at the end of each element: the names from the root down, such as
// "ListBucketResult/Contents/Key", and its own text with entities resolved and
// without that of elements inside.
using XmlElement =
    std::function<void(absl::string_view path, const std::string& text)>;

// Walks over `document`. Attributes, comments, declarations and prefixes of
// names are passed over; a document type is refused, because entities of one's
// own are a known way to fill memory. InvalidArgument for what is no XML.
absl::Status ReadXml(absl::string_view document, const XmlElement& element);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_XML_READER_H_
