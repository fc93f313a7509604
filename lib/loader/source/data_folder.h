// Folders of images as torchvision's ImageFolder reads them: links are
// followed, and the folders directly below the data set are the classes, by
// sorted name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// True if the name ends like that of an image (lib/media/image_file.h) or of an
// array (.npy), in any case.
bool IsItemName(absl::string_view name);

// Endings of these names: lower case, no dot.
std::vector<std::string> ItemNameEndings();

// True if the name has one of these endings, in any case.
bool HasEnding(absl::string_view name, const std::vector<std::string>& endings);

// What a listing has left out, for one warning.
class LeftOut {
 public:
  // A file that is not an item by its name.
  void AddFile(absl::string_view path);
  // Something else, such as "1 that is not a plain file".
  void Add(const std::string& kind, absl::string_view path);

  // "ignored 3 files: 2 .tif, 1 .txt; the first is PATH". Empty if it is
  // nothing.
  std::string Text() const;
  int64_t total() const { return total_; }

 private:
  std::map<std::string, int64_t> kinds_;
  int64_t total_ = 0;
  std::string first_;
};

// The index of a folder's JPEG files lies in it and is not an item.
inline constexpr absl::string_view kJpegIndexName = "feedrate.jpegindex";

struct DataFolder {
  // What has the name of an item, sorted. Plain files, and links that lead
  // nowhere.
  std::vector<std::string> paths;
  // Names of the folders directly below it, sorted.
  std::vector<std::string> folders;
  LeftOut left_out;
};

// Lists a folder with its subfolders. Items have one of `endings` (lower case,
// no dot). NotFound if there is no such folder.
absl::StatusOr<DataFolder> ListDataFolder(
    const std::string& folder,
    const std::vector<std::string>& endings = ItemNameEndings());

// The first folder of an item below the data set `root`. Empty if it is in the
// data set itself. The root of a member of a shard, SHARD.tar:MEMBER, is the
// shard. An address ends before a list {000..099}.
std::string ClassFolder(absl::string_view name, absl::string_view root);

// Leaves out the images directly in `root` where others are in folders: they
// have no class.
void KeepClassified(const std::string& root, DataFolder* listing);

struct ItemClasses {
  std::vector<std::string> names;  // By number.
  std::vector<int64_t> labels;     // One per item; -1 without a class.
};

// Numbers the classes of items, whose folders are `class_of`, empty for none.
// `folders` are all class folders, as DataFolder has them; may be empty. With
// `known`, such as the classes of a training, classes have these numbers.
// Returns no names if no item is in a folder. NotFound if a class has no item,
// which is allowed for `known` ones. InvalidArgument for a class that is not
// known. Messages begin with `place`.
absl::StatusOr<ItemClasses> NumberClasses(
    const std::string& place, const std::vector<std::string>& class_of,
    const std::vector<std::string>& folders,
    const std::vector<std::string>& known);

}  // namespace feedrate
