// Short names of data sets, which stand in job ids in place of paths.
#ifndef FEEDRATE_LIB_BASE_DATASET_ID_H_
#define FEEDRATE_LIB_BASE_DATASET_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// `/data/imagenet/val` and `gs://bucket/imagenet/val.tar` -> `val`;
// `synthetic:rgb,seed=1,n=20` -> `synthetic:rgb,n=20,seed=1`: what is made
// from parameters is named by them, in one order. Says what is wrong, without
// a place, when nothing is left to name it by.
absl::StatusOr<std::string> DatasetId(absl::string_view dataset);

// Whether `dataset` is the address of a store: s3://, gs://, http://, https://
// or file://.
bool IsRemoteDataset(absl::string_view dataset);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_DATASET_ID_H_
