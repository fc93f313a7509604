// Web addresses: taking them apart and writing them.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_URL_H_
#define FEEDRATE_LIB_STORAGE_HTTP_URL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Every byte but letters, digits and -._~ as %XX, as signatures want it; with
// `keep_slash` the slash stays too.
std::string PercentEncode(absl::string_view text, bool keep_slash = false);

// %XX back into bytes; what is no such escape stays. With `plus_is_space` as
// forms are encoded.
std::string PercentDecode(absl::string_view text, bool plus_is_space = false);

// Both names and values as they are, not encoded.
using UrlQuery = std::vector<std::pair<std::string, std::string>>;

// "a=1&b=x%20y", sorted: the form that a signature covers. Empty for no pairs.
std::string EncodeQuery(UrlQuery query);

struct Url {
  std::string scheme;  // In lower case: "s3", "https".
  std::string host;    // With the port where it has one.
  std::string path;    // From the slash on, as it was written; may be empty.
  std::string query;   // Without the question mark, as it was written.
};

// Takes "scheme://host/path?query". InvalidArgument, without the text, where
// there is no host, where a user or password stands before it (what holds a
// secret is not printed), or a character that no address has.
absl::StatusOr<Url> ParseUrl(absl::string_view text);

// "https://host:1/" -> "https://host:1": the address of a server, with
// `default_scheme` where it has none. `what` names where it came from.
absl::StatusOr<std::string> ParseEndpoint(absl::string_view text,
                                          absl::string_view default_scheme,
                                          absl::string_view what);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_URL_H_
