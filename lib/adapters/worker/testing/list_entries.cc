// Prints the lines of JSON that a runner would send to prepare each transform
// of a library. For tests of workers that cannot link the catalogue: libtorch
// has its own protobuf.
//
//   list_entries CONFIGS LIBRARY PROFILE
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

absl::Status List(const std::string& configs, const std::string& library,
                  const std::string& profile) {
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(configs));
  for (const char* scenario : {"image-rgb", "image-9ch"}) {
    ASSIGN_OR_RETURN(const TransformSet* set,
                     catalogue.Transforms(*catalogue.FindScenario(scenario)));
    for (const Transform& transform : set->transforms()) {
      for (const Implementation& entry : transform.implementations()) {
        const bool matched = entry.params_profile() == "matched";
        if (entry.library() != library || matched != (profile == "matched")) {
          continue;
        }
        PrepareCommand command;
        command.set_library(library);
        command.set_transform(transform.name());
        command.set_native_op(entry.native_op());
        *command.mutable_params() = entry.params();
        command.set_wrap(entry.wrap());
        command.set_scenario(scenario);
        command.set_device("cpu");
        command.set_torch_intra_op(1);
        command.set_torch_inter_op(1);
        std::cout << CommandLine(command);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: list_entries CONFIGS LIBRARY PROFILE\n";
    return 1;
  }
  const absl::Status status = feedrate::List(argv[1], argv[2], argv[3]);
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}
