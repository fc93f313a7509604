// tf.train.Example, the message in most TFRecord files: named lists of bytes,
// floats or whole numbers.
//
// Read without copying: a frame of an episode stays where the file has it until
// it is decoded. Only what the wire format allows is accepted, and each list is
// looked at when it is asked for.
#ifndef FEEDRATE_LIB_STORAGE_EXAMPLE_H_
#define FEEDRATE_LIB_STORAGE_EXAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// A view of one serialised Example.
class ExampleView {
 public:
  // Finds the features. InvalidArgument when `bytes`, which outlive it, are no
  // Example. Its memory is used again by the next Parse.
  absl::Status Parse(absl::string_view bytes);

  // In the order of the message. The last of equal names counts, as in
  // protobuf.
  const std::vector<absl::string_view>& names() const { return names_; }

  // NotFound names a feature that is missing, and those that are there;
  // InvalidArgument one of another kind, or a broken list. `out` is replaced.
  absl::Status Bytes(absl::string_view name,
                     std::vector<absl::string_view>* out) const;
  absl::Status Floats(absl::string_view name, std::vector<float>* out) const;
  absl::Status Integers(absl::string_view name,
                        std::vector<int64_t>* out) const;

  bool Has(absl::string_view name) const { return Find(name) != nullptr; }

 private:
  // Values are field numbers of the message Feature.
  enum class Kind { kNone = 0, kBytes = 1, kFloats = 2, kIntegers = 3 };
  struct Feature {
    Kind kind = Kind::kNone;
    // The serialised list.
    absl::string_view list;
  };

  absl::Status AddFeature(absl::string_view entry);
  const Feature* Find(absl::string_view name) const;
  absl::StatusOr<absl::string_view> ListOf(absl::string_view name,
                                           Kind kind) const;

  std::vector<absl::string_view> names_;
  std::vector<Feature> features_;
};

// Makes a serialised Example, one feature after the other.
class ExampleBuilder {
 public:
  void AddBytes(absl::string_view name,
                const std::vector<absl::string_view>& values);
  void AddFloats(absl::string_view name, const std::vector<float>& values);
  void AddIntegers(absl::string_view name, const std::vector<int64_t>& values);

  // The message so far.
  std::string Serialised() const;

 private:
  void Add(absl::string_view name, int kind, absl::string_view list);

  std::string features_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_EXAMPLE_H_
