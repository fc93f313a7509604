// Any web server that supports range requests.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

// For https://host/folder/shard-{000..099}.tar, or one object. Names begin
// after the last slash before the first list. A query, as in a presigned URL,
// is sent but never shown. Web servers cannot list objects, so a URL that ends
// with a slash is InvalidArgument.
absl::StatusOr<std::unique_ptr<Dialect>> NewWebDialect(const std::string& url);

}  // namespace feedrate
