#include "lib/storage/remote/http_error.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

absl::string_view RemedyOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return "check the name";
    case absl::StatusCode::kPermissionDenied:
      return "check the permissions";
    case absl::StatusCode::kUnauthenticated:
      return "check the credentials";
    case absl::StatusCode::kFailedPrecondition:
      return "the object has changed; list it again";
    default:
      return "";
  }
}

}  // namespace

absl::StatusCode CodeOfHttpStatus(int status) {
  switch (status) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
    case 410:
      return absl::StatusCode::kNotFound;
    case 408:
      return absl::StatusCode::kDeadlineExceeded;
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    case 416:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 501:
    case 505:
      return absl::StatusCode::kUnimplemented;
    default:
      return status >= 500 ? absl::StatusCode::kUnavailable
                           : absl::StatusCode::kInvalidArgument;
  }
}

absl::Status HttpError(int status, absl::StatusCode code,
                       absl::string_view reason, absl::string_view message,
                       absl::string_view remedy) {
  std::string text = absl::StrCat("HTTP ", status);
  if (!reason.empty()) absl::StrAppend(&text, " ", reason);
  if (!message.empty()) absl::StrAppend(&text, ": ", message);
  if (remedy.empty()) remedy = RemedyOf(code);
  if (!remedy.empty()) absl::StrAppend(&text, "; ", remedy);
  return absl::Status(code, text);
}

}  // namespace feedrate
