// Images in files of records, found by an index of where each one is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"

namespace feedrate {

// Images in TFRecord files. A record is a tf.train.Example with the image's
// bytes in the feature `image/encoded`, or in `image` as TensorFlow Datasets
// writes it; the class is `image/class/label` or `label`. Reads the beginning
// of every record first; later reads go directly to the image. The checksum of
// a record is not compared, because no more than its image is read. Items are
// named FILE:record N.
//
// InvalidArgument or DataLoss names a file and the record that cannot be used.
absl::StatusOr<std::unique_ptr<Source>> TfRecordSource(
    const std::vector<std::string>& paths);

// Images in Parquet files: the binary column `image`, or the part `bytes` of a
// structure `image`, as Hugging Face's datasets have it. The class is the
// column `label`, if there is one of integers. Reads the images directly where
// pages are neither compressed nor have a dictionary. Otherwise reads a group
// of rows at a time and keeps the last few. Items are named FILE:row N.
//
// InvalidArgument names a file and what is wrong with it.
absl::StatusOr<std::unique_ptr<Source>> ParquetSource(
    const std::vector<std::string>& paths);

// Images in LMDB files, in the order of their keys. Items are named FILE:KEY.
//
// InvalidArgument names a file and what is wrong with it.
absl::StatusOr<std::unique_ptr<Source>> LmdbSource(
    const std::vector<std::string>& paths);

}  // namespace feedrate
