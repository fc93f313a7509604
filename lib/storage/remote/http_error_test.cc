#include "lib/storage/remote/http_error.h"

#include "gtest/gtest.h"
#include "lib/storage/http/retry_policy.h"

namespace feedrate {
namespace {

TEST(HttpErrorTest, WhatMayPassIsTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504, 507, 599}) {
    EXPECT_TRUE(IsTransient(absl::Status(CodeOfHttpStatus(status), "")))
        << status;
  }
  for (const int status :
       {301, 304, 400, 401, 403, 404, 405, 410, 412, 416, 501, 505}) {
    EXPECT_FALSE(IsTransient(absl::Status(CodeOfHttpStatus(status), "")))
        << status;
  }
}

TEST(HttpErrorTest, OneLineWithTheRemedy) {
  EXPECT_EQ(
      HttpError(403, CodeOfHttpStatus(403), "AccessDenied", "Access Denied", "")
          .message(),
      "HTTP 403 AccessDenied: Access Denied; check the permissions");
  EXPECT_EQ(HttpError(503, CodeOfHttpStatus(503), "", "", "").message(),
            "HTTP 503");
  EXPECT_EQ(
      HttpError(404, CodeOfHttpStatus(404), "NoSuchBucket", "", "x").message(),
      "HTTP 404 NoSuchBucket; x");
}

}  // namespace
}  // namespace feedrate
