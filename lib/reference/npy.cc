#include "lib/reference/npy.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/npy.h"

namespace feedrate {

absl::StatusOr<NpyArray> ParseNpy(absl::string_view file) {
  ASSIGN_OR_RETURN(NpyView view, ViewNpy(file));
  NpyArray array;
  array.dtype = std::move(view.dtype);
  array.shape = std::move(view.shape);
  array.data = std::string(view.data);
  return array;
}

}  // namespace feedrate
