// What is asked of a web server, and what it answers.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_MESSAGE_H_
#define FEEDRATE_LIB_STORAGE_HTTP_MESSAGE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct HttpRequest {
  bool head_only = false;            // HEAD instead of GET.
  std::string url;                   // Encoded.
  std::vector<std::string> headers;  // "name: value".
  // To any host, so never where a header holds a credential.
  bool follow_redirects = false;
};

// Names in lower case. A header that comes again is joined by a comma.
class HttpHeaders {
 public:
  void Add(absl::string_view name, absl::string_view value) {
    std::string& held = values_[absl::AsciiStrToLower(name)];
    if (!held.empty()) held += ", ";
    held.append(value.data(), value.size());
  }
  void Clear() { values_.clear(); }
  // Empty where it is not there. `name` in lower case.
  const std::string& Get(const std::string& name) const {
    static const std::string& kNone = *new std::string;
    const auto found = values_.find(name);
    return found == values_.end() ? kNone : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

struct HttpResponse {
  int status = 0;  // 0: none came.
  HttpHeaders headers;
  // The beginning of what came with an error; bodies of answers that are none
  // go to HttpExchange::Body.
  std::string error_body;

  bool ok() const { return status >= 200 && status < 300; }
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_MESSAGE_H_
