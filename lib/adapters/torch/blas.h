// The BLAS in torch's wheels: which one torch calls, and how to keep the one
// for arm64 from hanging.
#pragma once

#include <string>

namespace feedrate {

// NVPL, the BLAS for arm64, goes by the name of the CPU. In a virtual machine
// that hides SVE it uses SVE nevertheless, and then loops forever over vectors
// of width zero. An environment variable makes it use what every arm64 CPU has.
// If NVPL would hang, this restarts the program with the variable set: NVPL
// reads it when it is loaded, before main. Open files stay open. Returns
// immediately if there is no problem or the variable is already set.
void AvoidHiddenSve(char** argv);

// File name of the library whose `sgemm_` torch calls in this process, such as
// `libtorch_cpu.so`.
std::string BlasOfTorch();

// Empty when that library is torch's own. Otherwise one line that names it: the
// dynamic linker takes the first `sgemm_` that it finds, and a reference BLAS
// that another library brought along makes training five times slower.
std::string ForeignBlas();

}  // namespace feedrate
