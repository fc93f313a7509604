// Keeps the BLAS in torch's arm64 wheels from hanging.
//
// NVPL goes by the name of the CPU. In a virtual machine that hides SVE it uses
// SVE nevertheless, and then loops forever over vectors of width zero. An
// environment variable makes it use what every arm64 CPU has.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_

namespace feedrate {

// If NVPL would hang, restarts this program with the variable set: NVPL reads
// it when it is loaded, before main. Open files stay open. Returns immediately
// if there is no problem or the variable is already set.
void AvoidHiddenSve(char** argv);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_ARM_BLAS_H_
