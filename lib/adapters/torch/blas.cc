#include "lib/adapters/torch/blas.h"

#include <dlfcn.h>

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

namespace {

constexpr char kTorch[] = "libtorch_cpu.so";
constexpr char kProduct[] = "sgemm_";

// Path of the library that an address is in.
std::string LibraryOf(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "";
}

struct Products {
  // What the linker found first, and what torch and its own libraries have.
  void* bound = nullptr;
  void* own = nullptr;
};

Products FindProducts() {
  Products products;
  void* const torch = dlopen(kTorch, RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return products;
  products.bound = dlsym(RTLD_DEFAULT, kProduct);
  products.own = dlsym(torch, kProduct);
  dlclose(torch);
  return products;
}

}  // namespace

std::string BlasOfTorch() {
  const Products products = FindProducts();
  // A torch that has no sgemm_ outside calls one that is hidden inside it.
  if (products.own == nullptr) return kTorch;
  const std::string path = LibraryOf(products.bound);
  return path.substr(path.rfind('/') + 1);
}

std::string ForeignBlas() {
  const Products products = FindProducts();
  if (products.own == nullptr || products.own == products.bound) return "";
  return std::string(kProduct) + " comes from " + LibraryOf(products.bound) +
         " instead of torch's own " + LibraryOf(products.own) +
         ", so timings would not be torch's; unset LD_PRELOAD, or link torch "
         "before the other library";
}

}  // namespace feedrate
