#include "lib/storage/http/secrets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/storage/http/url.h"

namespace feedrate {
namespace {

constexpr size_t kShortest = 4;
// Of a signature by SHA-256, in hexadecimal.
constexpr size_t kSignature = 64;

std::string WithoutSignatures(absl::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const size_t run =
        std::find_if_not(text.begin(), text.end(), absl::ascii_isxdigit) -
        text.begin();
    absl::StrAppend(&safe, run >= kSignature ? "***" : text.substr(0, run));
    text.remove_prefix(run);
    absl::StrAppend(&safe, text.substr(0, 1));
    text.remove_prefix(std::min<size_t>(1, text.size()));
  }
  return safe;
}

}  // namespace

void Secrets::Add(absl::string_view secret) {
  if (secret.size() < kShortest) return;
  secrets_.emplace_back(secret);
  std::string encoded = PercentEncode(secret);
  if (encoded != secret) secrets_.push_back(std::move(encoded));
  // One may hold another, whose replacement would leave the rest readable.
  std::sort(secrets_.begin(), secrets_.end(),
            [](const std::string& a, const std::string& b) {
              return a.size() > b.size();
            });
}

std::string Secrets::Redact(absl::string_view text) const {
  std::string safe(text);
  for (const std::string& secret : secrets_) {
    safe = absl::StrReplaceAll(safe, {{secret, "***"}});
  }
  safe = WithoutSignatures(safe);
  for (char& c : safe) {
    if (absl::ascii_iscntrl(c)) c = ' ';
  }
  if (safe.size() > kMaxText) {
    safe.resize(kMaxText);
    absl::StrAppend(&safe, "…");
  }
  return safe;
}

}  // namespace feedrate
