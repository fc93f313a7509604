#include "lib/loader/store_parts.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr int64_t kMostMisfits = 16;

}  // namespace

StoreParts::StoreParts(const RemoteSource& source, JpegIndex* index,
                       std::unique_ptr<SampleMaker> maker)
    : source_(source), index_(index), maker_(std::move(maker)) {}

std::unique_ptr<JpegPart> StoreParts::Find(int64_t item, uint64_t seed) {
  const std::string place = source_.PlaceOf(item);
  if (place.empty() || misfits_ >= kMostMisfits) return nullptr;
  const absl::optional<std::string> outline =
      index_->Find(JpegIndex::KeyOfPlace(place));
  if (!outline.has_value() || outline->empty()) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto region_of = [&](const ImageInfo& info) {
    const DecodeWindow window = maker_->WindowOf(info.height, info.width, seed);
    return JpegRegion{window.x, window.y, window.width, window.height};
  };
  try {
    return FindJpegPart(*index_, *outline, source_.bytes(item), region_of,
                        &decoder_);
  } catch (const std::exception&) {
    // Whoever makes the sample meets the same, and says so.
    return nullptr;
  }
}

void StoreParts::Add(int64_t item, absl::string_view bytes,
                     const JpegIndex::Key& key, size_t codes_at) {
  const std::string place = source_.PlaceOf(item);
  if (place.empty()) return;
  const JpegIndex::Key place_key = JpegIndex::KeyOfPlace(place);
  if (index_->Find(place_key).has_value()) return;
  index_->Add(place_key, PackJpegOutline(bytes, codes_at, key));
}

std::string StoreParts::Problem() const {
  if (misfits_ == 0) return "";
  return absl::StrCat(
      source_.name(0), ": of ", misfits_.load(),
      " items of this store, parts were not those of the index, so they were "
      "read whole; remove the index to make it anew");
}

}  // namespace feedrate
