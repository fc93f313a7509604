// Where an entry's name leads, decided on the name alone.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_SAFE_NAME_H_
#define FEEDRATE_LIB_TAR_EXTRACT_SAFE_NAME_H_

#include <string>
#include <string_view>

namespace feedrate::tar {

// Why an entry is left out. The order is that of the report.
enum class Skip {
  kNone,
  kDsStore,      // .DS_Store
  kAppleDouble,  // ._* and .AppleDouble
  kMacosx,       // __MACOSX
  kStageFile,    // Our own sentinel, or its like: never taken from an archive.
  kStripped,     // Nothing is left after --strip-components.
};
inline constexpr int kSkipKinds = 6;

// The files that staging keeps in DIR itself, for its own use.
inline constexpr std::string_view kStagePrefix = ".stage_dataset.";

struct PlacedName {
  // Relative to DIR, without "." or empty parts; empty for DIR itself.
  std::string path;
  Skip skip = Skip::kNone;
  // When not null: why the name may not be used at all.
  const char* refusal = nullptr;
};

// Takes `strip` leading parts off and looks for harm and for litter. Any ".."
// is refused, even one that would stay inside: with links about, no name tells
// where it leads.
PlacedName PlaceName(std::string_view name, int strip);

// Why a symbolic link at `path` (as placed) to `target` is refused; null when
// it is not. The target may climb first and descend then. Climbing after a
// name is refused: the name may be a link, and its parent anywhere. With this
// rule for every link, no chain of links leads out.
const char* SymlinkRefusal(std::string_view path, std::string_view target);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_SAFE_NAME_H_
