// Whether this machine is a guest of another.
#ifndef FEEDRATE_LIB_MACHINE_VIRTUAL_MACHINE_H_
#define FEEDRATE_LIB_MACHINE_VIRTUAL_MACHINE_H_

#include <string>

#include "lib/machine/root.h"

namespace feedrate {

// Name of the hypervisor: `kvm`, `xen`, `vmware`, `hyperv`, `virtualbox`,
// `apple`, or `unknown` when only its presence shows. Empty: none is seen.
// Cloud machines on KVM are `kvm`, whoever runs it.
std::string ReadHypervisor(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_VIRTUAL_MACHINE_H_
