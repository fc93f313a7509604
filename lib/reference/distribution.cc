#include "lib/reference/distribution.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/arguments.h"
#include "lib/reference/moved.h"
#include "lib/reference/noise.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

DrawCheck Moved(std::string problem) {
  return {problem.empty(), problem.empty(), problem};
}

DrawCheck Likely(std::string problem) {
  return {problem.empty(), false, problem};
}

using Op = DrawCheck (*)(Arguments&, const Pixels&, const Pixels&);

DrawCheck WindowOp(Arguments& args, const Pixels& input, const Pixels& output) {
  const int height = args.Integer("height");
  const int width = args.Integer("width");
  return Moved(NotAWindow(input, output, height, width));
}

DrawCheck ChannelsOp(Arguments&, const Pixels& input, const Pixels& output) {
  return Moved(NotPermutedChannels(input, output));
}

DrawCheck RectangleOp(Arguments& args, const Pixels& input,
                      const Pixels& output) {
  const std::vector<double> area = args.Numbers("area", 2);
  return Moved(NotOneRectangle(input, output, area[0], area[1]));
}

DrawCheck TilesOp(Arguments& args, const Pixels& input, const Pixels& output) {
  const int rows = args.Integer("rows");
  const int columns = args.Integer("columns");
  if (rows < 1 || columns < 1) {
    args.Complain("rows and columns must be positive");
    return {};
  }
  return Moved(NotShuffledTiles(input, output, rows, columns));
}

DrawCheck GaussianNoiseOp(Arguments& args, const Pixels& input,
                          const Pixels& output) {
  const double std = args.Number("std");
  if (!(std > 0)) {
    args.Complain("std is not positive");
    return {};
  }
  return Likely(NotGaussianNoise(input, output, std));
}

DrawCheck SaltAndPepperOp(Arguments& args, const Pixels& input,
                          const Pixels& output) {
  const std::vector<double> amount = args.Numbers("amount", 2);
  const std::vector<double> salt = args.Numbers("salt", 2);
  return Likely(NotSaltAndPepper(input, output,
                                 {amount[0], amount[1], salt[0], salt[1]}));
}

const std::map<std::string, Op>& Ops() {
  static const auto& ops = *new std::map<std::string, Op>{
      {"erase_some_rectangle", RectangleOp},
      {"gaussian_noise", GaussianNoiseOp},
      {"permute_channels", ChannelsOp},
      {"salt_and_pepper", SaltAndPepperOp},
      {"shuffle_tiles", TilesOp},
      {"some_window", WindowOp},
  };
  return ops;
}

}  // namespace

absl::StatusOr<DrawCheck> CheckDraw(const Reference& reference,
                                    const Pixels& input, const Pixels& output) {
  const auto op = Ops().find(reference.op());
  if (op == Ops().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no reference \"", reference.op(), "\" of kind DISTRIBUTION"));
  }
  Arguments arguments(reference.op(),
                      {reference.params().begin(), reference.params().end()});
  const DrawCheck check = op->second(arguments, input, output);
  RETURN_IF_ERROR(arguments.Finish());
  return check;
}

std::vector<std::string> DistributionOps() {
  std::vector<std::string> names;
  for (const auto& op : Ops()) names.push_back(op.first);
  return names;
}

}  // namespace feedrate
