// Texts that must not be told to anybody.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_SECRETS_H_
#define FEEDRATE_LIB_STORAGE_HTTP_SECRETS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// What a server says may repeat what it was sent. Whatever of an answer goes
// into a message passes through here.
class Secrets {
 public:
  // Texts of fewer than four characters are not hidden: they occur everywhere.
  void Add(absl::string_view secret);

  // `text` with every secret, as it is or percent-encoded, and whatever looks
  // like a signature replaced by "***", control characters by spaces, and cut
  // to `kMaxText`.
  std::string Redact(absl::string_view text) const;

  static constexpr size_t kMaxText = 300;

 private:
  std::vector<std::string> secrets_;  // The longest first.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_SECRETS_H_
