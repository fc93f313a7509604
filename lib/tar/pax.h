// The extended headers of pax: lines of "length key=value".
#ifndef FEEDRATE_LIB_TAR_PAX_H_
#define FEEDRATE_LIB_TAR_PAX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/tar/number.h"

namespace feedrate::tar {

// What this reader uses of an extended header; a record it does not know is
// passed over, as pax says.
struct PaxFields {
  std::optional<std::string> path;
  std::optional<std::string> link;
  std::optional<int64_t> size;
  std::optional<Time> mtime;
  bool sparse = false;      // Any GNU.sparse.* record.
  bool has_xattrs = false;  // Any record of extended attributes or ACLs.
};

// Reads the whole body of an extended header into `fields`, over what they
// hold: a later record wins, an empty value takes an earlier one back. False
// with the reason in `why` (a constant string) when the body is malformed.
bool ParsePax(std::string_view body, PaxFields* fields, const char** why);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_PAX_H_
