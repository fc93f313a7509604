// Labels outputs that other programs have written to files, without a runner:
//
//   bazel run //lib/reference:compare_main -- --configs=$PWD/configs < list
//
// Each line of the list is
//   SCENARIO PROFILE LIBRARY TRANSFORM INPUT.npy OUTPUT.npy LAYOUT
// with an input of uint8 HWC. Prints the line's names, the label, largest
// difference, PSNR, SSIM and the reason, with tabs between.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/image_file.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

DEFINE_string(configs, "configs", "FOLDER: folder that contains the catalogue");

namespace feedrate {
namespace {

absl::StatusOr<LibraryOutput> ReadImage(const std::string& path,
                                        const std::string& layout) {
  ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  ASSIGN_OR_RETURN(const NpyView array, ViewNpy(file));
  if (array.shape.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not 3 dimensions"));
  }
  const int planar = layout == "CHW" ? 1 : 0;
  return ReadOutput({array.data.data(), static_cast<int64_t>(array.data.size()),
                     array.dtype, layout, array.shape[planar],
                     array.shape[1 + planar],
                     array.shape[planar == 1 ? 0 : 2]});
}

absl::StatusOr<Comparison> LabelOf(const Catalogue& catalogue,
                                   const std::vector<std::string>& fields) {
  if (fields.size() != 7) {
    return absl::InvalidArgumentError("a line has not seven fields");
  }
  const Scenario* scenario = catalogue.FindScenario(fields[0]);
  if (scenario == nullptr) {
    return absl::NotFoundError(absl::StrCat("no scenario ", fields[0]));
  }
  ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(*scenario));
  for (const Transform& transform : set->transforms()) {
    if (transform.name() != fields[3]) continue;
    const Implementation* implementation =
        FindImplementation(transform, fields[2], fields[1]);
    if (implementation == nullptr) continue;
    ASSIGN_OR_RETURN(const LibraryOutput input, ReadImage(fields[4], "HWC"));
    ASSIGN_OR_RETURN(const LibraryOutput output,
                     ReadImage(fields[5], fields[6]));
    return CheckOutput(transform, *implementation, input.pixels, output);
  }
  return absl::NotFoundError(
      absl::StrCat("no transform ", fields[3], " of ", fields[2]));
}

std::string Text(const absl::optional<double>& number) {
  return number.has_value() ? absl::StrFormat("%.4g", *number) : "-";
}

int LabelAll() {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load(FLAGS_configs);
  if (!catalogue.ok()) {
    std::cerr << catalogue.status().message() << "\n";
    return 1;
  }
  int exit_code = 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    const absl::StatusOr<Comparison> label = LabelOf(*catalogue, fields);
    if (!label.ok()) {
      std::cerr << line << ": " << label.status().message() << "\n";
      exit_code = 1;
      continue;
    }
    std::cout << fields[0] << "\t" << fields[1] << "\t" << fields[2] << "\t"
              << fields[3] << "\t" << label->label << "\t"
              << Text(label->max_abs_diff) << "\t" << Text(label->psnr_db)
              << "\t" << Text(label->ssim) << "\t" << label->reference << "\n";
  }
  return exit_code;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return feedrate::LabelAll();
}
