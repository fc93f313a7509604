#include "lib/machine/os.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <sys/utsname.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Value of an assignment in the shell's notation, which os-release(5) uses.
std::string Unquote(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  for (const char* quote : {"\"", "'"}) {
    if (value.size() >= 2 && absl::ConsumePrefix(&value, quote)) {
      absl::ConsumeSuffix(&value, quote);
      break;
    }
  }
  std::string plain;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    plain.push_back(value[i]);
  }
  return plain;
}

std::string Distribution(const Root& root) {
  const std::string release =
      root.Read("/etc/os-release")
          .value_or(root.Read("/usr/lib/os-release").value_or(""));
  std::string name, version;
  for (absl::string_view line : absl::StrSplit(release, '\n')) {
    if (absl::ConsumePrefix(&line, "PRETTY_NAME=")) return Unquote(line);
    if (absl::ConsumePrefix(&line, "NAME=")) name = Unquote(line);
    if (absl::ConsumePrefix(&line, "VERSION=")) version = Unquote(line);
  }
  return version.empty() ? name : absl::StrCat(name, " ", version);
}

}  // namespace

OsInfo ReadOs(const Root& root) {
  OsInfo os;
  os.host = root.ReadText("/proc/sys/kernel/hostname");
  os.kernel = root.ReadText("/proc/sys/kernel/osrelease");
  os.distribution = Distribution(root);
  if (!root.is_live()) return os;
  utsname names;
  if (uname(&names) == 0) {
    os.host = names.nodename;
    os.kernel = names.release;
  }
#ifdef __GLIBC__
  os.glibc = gnu_get_libc_version();
#endif
  return os;
}

}  // namespace feedrate
