// URLs: parsing, encoding, and hiding the secrets in them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Encodes every byte except letters, digits and -._~ as %XX, as signatures
// require. With `keep_slash`, slashes are kept too.
std::string PercentEncode(absl::string_view text, bool keep_slash = false);

// Decodes %XX; other text is kept. With `plus_is_space`, decodes the encoding
// of HTML forms.
std::string PercentDecode(absl::string_view text, bool plus_is_space = false);

// Names and values, not encoded.
using UrlQuery = std::vector<std::pair<std::string, std::string>>;

// "a=1&b=x%20y", sorted, as needed for signatures. Empty if there are no pairs.
std::string EncodeQuery(UrlQuery query);

struct Url {
  std::string scheme;  // In lower case: "s3", "https".
  std::string host;    // Including the port, if any.
  std::string path;    // From the first slash, not decoded; may be empty.
  std::string query;   // Without the question mark, not decoded.
};

// Parses "scheme://host/path?query". InvalidArgument when there is no host,
// when there is a user or password, or for a character that URLs cannot
// contain. The error does not contain the text, which may hold a secret.
absl::StatusOr<Url> ParseUrl(absl::string_view text);

// "https://host:1/" -> "https://host:1": the address of a server.
// Without a scheme it is https, and http for a server on this machine, as
// emulators are. `what` names the text's origin in errors.
absl::StatusOr<std::string> ParseEndpoint(absl::string_view text,
                                          absl::string_view what);

// Whether `host` (with or without a port) is this machine itself: localhost, or
// an address such as 127.0.0.1 or [::1].
bool IsLoopbackHost(absl::string_view host);

// Whether `host` (with or without a port) is an address that no router passes
// on, as the metadata servers of clouds have: 169.254.0.0/16, or Amazon's
// [fd00:ec2::254] and [fd00:ec2::23].
bool IsLinkLocalHost(absl::string_view host);

// Secrets that must not appear in messages. A server's response may repeat what
// it was sent, so every part of a response that goes into a message is redacted
// first.
class Secrets {
 public:
  // Texts of fewer than four characters are ignored: they occur everywhere.
  void Add(absl::string_view secret);

  // Returns `text` with every secret (plain or percent-encoded) and everything
  // that looks like a signature replaced by "***", and control characters by
  // spaces, truncated to `kMaxText`.
  std::string Redact(absl::string_view text) const;

  static constexpr size_t kMaxText = 300;

 private:
  std::vector<std::string> secrets_;  // Longest first.
};

}  // namespace feedrate
