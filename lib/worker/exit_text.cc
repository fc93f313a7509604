#include "lib/worker/exit_text.h"

#include <string.h>
#include <sys/wait.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace feedrate {

std::string ExitText(int wait_status) {
  if (WIFEXITED(wait_status)) {
    return absl::StrCat("exited with code ", WEXITSTATUS(wait_status));
  }
  if (!WIFSIGNALED(wait_status)) {
    return absl::StrCat("ended with wait status ", wait_status);
  }
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);
  const char* description = sigdescr_np(number);
  if (name == nullptr || description == nullptr) {
    return absl::StrCat("killed by signal ", number);
  }
  return absl::StrCat("killed by SIG", name, " (", description, ")");
}

}  // namespace feedrate
