// Any web server that serves ranges.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_WEB_DIALECT_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_WEB_DIALECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

// For https://host/folder/shard-{000..099}.tar, or one object. Names begin
// after the last slash before the first list. A query, as of an address that
// was signed in advance, is sent and never shown. A server cannot be asked what
// it has: an address that ends with a slash is InvalidArgument.
absl::StatusOr<std::unique_ptr<Dialect>> NewWebDialect(const std::string& url);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_WEB_DIALECT_H_
