// What the tests of this folder share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

inline Reference Ref(const std::string& op, ReferenceKind kind,
                     const std::vector<std::string>& params = {}) {
  Reference reference;
  reference.set_op(op);
  reference.set_kind(kind);
  for (const std::string& param : params) reference.add_params(param);
  return reference;
}

// An image with one channel.
inline Pixels Gray(int height, int width, std::vector<double> values) {
  Pixels image(height, width, 1);
  image.values = std::move(values);
  return image;
}

inline auto Near(const std::vector<double>& values) {
  return ::testing::Pointwise(::testing::DoubleNear(1e-9), values);
}

}  // namespace feedrate
