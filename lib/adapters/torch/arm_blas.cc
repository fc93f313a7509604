#include "lib/adapters/torch/arm_blas.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace feedrate {

#if defined(__aarch64__)
void AvoidHiddenSve(char** argv) {
  constexpr char kVariable[] = "NVPL_BLAS_DEBUG_CPU_TYPE";
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0) return;
  if (std::getenv(kVariable) != nullptr) return;
  // 1 is "Generic ASIMD".
  setenv(kVariable, "1", /*overwrite=*/1);
  execv("/proc/self/exe", argv);
  // If that fails, most transforms still work: few need BLAS.
}
#else
void AvoidHiddenSve(char**) {}
#endif

}  // namespace feedrate
