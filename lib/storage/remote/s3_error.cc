#include "lib/storage/remote/s3_error.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/storage/remote/http_error.h"
#include "lib/storage/remote/s3_listing.h"

namespace feedrate {
namespace {

struct Meaning {
  absl::string_view reason;
  absl::StatusCode code;
  absl::string_view remedy;
};

constexpr absl::string_view kRenew =
    "get new credentials and set AWS_SESSION_TOKEN and the keys";
constexpr absl::string_view kCheckKeys =
    "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

constexpr Meaning kMeanings[] = {
    {"NoSuchBucket", absl::StatusCode::kNotFound,
     "check the bucket's name and the endpoint"},
    {"ExpiredToken", absl::StatusCode::kUnauthenticated, kRenew},
    {"InvalidToken", absl::StatusCode::kUnauthenticated, kRenew},
    {"TokenRefreshRequired", absl::StatusCode::kUnauthenticated, kRenew},
    {"InvalidAccessKeyId", absl::StatusCode::kUnauthenticated, kCheckKeys},
    {"SignatureDoesNotMatch", absl::StatusCode::kUnauthenticated, kCheckKeys},
    {"RequestTimeTooSkewed", absl::StatusCode::kFailedPrecondition,
     "set this machine's clock"},
    {"InvalidObjectState", absl::StatusCode::kFailedPrecondition,
     "the object is archived; restore it first"},
    {"SlowDown", absl::StatusCode::kUnavailable, ""},
    {"RequestTimeout", absl::StatusCode::kDeadlineExceeded, ""},
    {"InternalError", absl::StatusCode::kUnavailable, ""},
};

bool IsWrongRegion(const HttpResponse& response, const S3Error& error) {
  return response.status == 301 || response.status == 307 ||
         error.code == "PermanentRedirect" ||
         error.code == "AuthorizationHeaderMalformed";
}

std::string RegionRemedy(const HttpResponse& response) {
  const std::string& region = response.headers.Get("x-amz-bucket-region");
  return region.empty()
             ? "the bucket is in another region; set AWS_REGION to its own"
             : absl::StrCat("the bucket is in another region; set AWS_REGION=",
                            region);
}

}  // namespace

absl::Status S3ErrorStatus(const HttpResponse& response, const Secrets& secrets,
                           bool was_signed) {
  const S3Error error = ParseS3Error(response.error_body);
  absl::StatusCode code = CodeOfHttpStatus(response.status);
  std::string remedy;
  if (IsWrongRegion(response, error)) {
    code = absl::StatusCode::kFailedPrecondition;
    remedy = RegionRemedy(response);
  } else if (code == absl::StatusCode::kPermissionDenied && !was_signed) {
    remedy =
        "it was asked for without credentials; set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.reason != error.code) continue;
    code = meaning.code;
    remedy = std::string(meaning.remedy);
  }
  return HttpError(response.status, code, secrets.Redact(error.code),
                   secrets.Redact(error.message), secrets.Redact(remedy));
}

}  // namespace feedrate
