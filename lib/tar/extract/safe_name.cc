#include "lib/tar/extract/safe_name.h"

namespace feedrate::tar {
namespace {

// Cuts the first part off `name` and the slashes behind it.
std::string_view TakePart(std::string_view* name) {
  const size_t slash = name->find('/');
  const std::string_view part = name->substr(0, slash);
  const size_t rest = name->find_first_not_of('/', slash);
  *name = slash == std::string_view::npos || rest == std::string_view::npos
              ? std::string_view()
              : name->substr(rest);
  return part;
}

Skip LitterKind(std::string_view part) {
  if (part == ".DS_Store") return Skip::kDsStore;
  if (part == "__MACOSX") return Skip::kMacosx;
  if (part == ".AppleDouble" || part.substr(0, 2) == "._") {
    return Skip::kAppleDouble;
  }
  return Skip::kNone;
}

bool IsStageFile(std::string_view path) {
  return path.substr(0, kStagePrefix.size()) == kStagePrefix &&
         path.find('/') == std::string_view::npos;
}

}  // namespace

PlacedName PlaceName(std::string_view name, int strip) {
  PlacedName placed;
  if (!name.empty() && name[0] == '/') {
    placed.refusal = "its name is absolute";
    return placed;
  }
  placed.path.reserve(name.size());
  int parts = 0;
  while (!name.empty()) {
    const std::string_view part = TakePart(&name);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      placed.refusal = "its name holds \"..\"";
      return placed;
    }
    if (placed.skip == Skip::kNone) placed.skip = LitterKind(part);
    if (++parts <= strip) continue;
    if (!placed.path.empty()) placed.path += '/';
    placed.path += part;
  }
  if (placed.skip == Skip::kNone && strip > 0 && parts <= strip) {
    placed.skip = Skip::kStripped;
  }
  if (placed.skip == Skip::kNone && IsStageFile(placed.path)) {
    placed.skip = Skip::kStageFile;
  }
  return placed;
}

const char* SymlinkRefusal(std::string_view path, std::string_view target) {
  if (target[0] == '/') return "it points to an absolute name";
  int depth = 0;  // Of the folder that holds the link.
  for (char c : path) depth += c == '/';
  bool descended = false;
  while (!target.empty()) {
    const std::string_view part = TakePart(&target);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      descended = true;
    } else if (descended) {
      return "it points through a name and then up by \"..\"";
    } else if (--depth < 0) {
      return "it points out of the destination";
    }
  }
  return nullptr;
}

}  // namespace feedrate::tar
