// Keeps the BLAS in torch's wheels for arm64 from hanging.
//
// NVPL goes by the CPU's name. In a virtual machine that hides SVE it counts on
// it nevertheless, and then waits for ever on vectors of width zero. A variable
// makes it use what every arm64 CPU has.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_

namespace feedrate {

// Where it would hang, starts this program again with the variable set: NVPL
// reads it as it is loaded, before main. Open files stay open. Returns at once
// where all is well, and where the variable is set already.
void AvoidHiddenSve(char** argv);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_
