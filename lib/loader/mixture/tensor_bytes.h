// Tensors that tensorflow-datasets wrote as bytes: its features with an
// `encoding`.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// Bytes of a value of a type as numpy names it; 0 for types that are not read.
int TensorValueBytes(absl::string_view dtype);

// Appends the numbers of one tensor. InvalidArgument if it is damaged or has
// another size, or a number that a float cannot hold.
absl::Status AppendTensor(const TensorEncoding& encoding,
                          absl::string_view bytes, std::vector<float>* values);

// InvalidArgument for integers that a float rounds.
absl::Status CheckFitsFloat(int64_t integer);

}  // namespace feedrate
