// What a loader does with an index of JPEG files.
#include <utility>

#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/loader.h"
#include "lib/loader/sample/sample_maker.h"
#include "lib/loader/store_parts.h"

namespace feedrate {

absl::Status Loader::OpenIndex(const Recipe& recipe) {
  if (options_.jpeg_index.empty() || source_->in_memory()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(index_, JpegIndex::Open(options_.jpeg_index));
  index_problem_ = index_->problem();
  if (source_->remote() == nullptr || recipe.scaled_decode) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SampleMaker> maker,
                   SampleMaker::Create(recipe));
  parts_ = std::make_unique<StoreParts>(*source_->remote(), index_.get(),
                                        std::move(maker));
  return absl::OkStatus();
}

void Loader::SaveIndex() {
  if (index_ == nullptr) return;
  const absl::Status saved = index_->Save();
  if (!saved.ok()) {
    index_problem_ = std::string(saved.message());
  } else if (parts_ != nullptr && !parts_->Problem().empty()) {
    index_problem_ = parts_->Problem();
  }
}

absl::Status Loader::MakeFromBytes(SampleMaker* maker, int64_t item,
                                   absl::string_view bytes, uint64_t seed,
                                   void* out, SampleTimes* times) {
  if (index_ == nullptr) {
    return maker->FromBytes(bytes, "", seed, out, times);
  }
  int64_t begin = MonotonicNs();
  const JpegIndex::Key key = JpegIndex::KeyOf(bytes);
  const absl::optional<std::string> entries = index_->Find(key);
  times->decode_ns += MonotonicNs() - begin;
  RETURN_IF_ERROR(maker->FromBytes(
      bytes, entries.has_value() ? absl::string_view(*entries) : "", seed, out,
      times));
  begin = MonotonicNs();
  const std::string found = entries.has_value() ? "" : maker->FindEntries();
  if (!entries.has_value()) index_->Add(key, found);
  if (parts_ != nullptr && !entries.value_or(found).empty()) {
    parts_->Add(item, bytes, key, maker->codes_at());
  }
  times->decode_ns += MonotonicNs() - begin;
  return absl::OkStatus();
}

}  // namespace feedrate
