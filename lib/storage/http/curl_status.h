// What libcurl's failures mean to us.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_CURL_STATUS_H_
#define FEEDRATE_LIB_STORAGE_HTTP_CURL_STATUS_H_

#include <curl/curl.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// `detail` is the text of CURLOPT_ERRORBUFFER; empty: the code's own. A failure
// of the line is UNAVAILABLE or DEADLINE_EXCEEDED, so that it is tried again;
// one that would come again is not.
absl::Status CurlStatus(CURLcode code, absl::string_view detail);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_CURL_STATUS_H_
