#include "lib/tar/exercise.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lib/tar/reader.h"

namespace feedrate::tar {
namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "tar::Reader broke its contract: %s\n", what);
  abort();
}

class Run {
 public:
  Run(std::string_view bytes, size_t piece, bool skip)
      : bytes_(bytes), piece_(piece), skip_(skip) {}

  Transcript Go() {
    Reader::Event event = Reader::Event::kNeedInput;
    while (event == Reader::Event::kNeedInput && at_ < bytes_.size()) {
      std::string_view input = bytes_.substr(at_, piece_);
      event = PushPiece(input);
    }
    if (event == Reader::Event::kNeedInput) event = reader_.Finish();
    Check(event == reader_.Finish(), "Finish() changes its mind");
    Conclude(event);
    return std::move(transcript_);
  }

 private:
  // Goes through the piece's events until it is used up or all is over.
  Reader::Event PushPiece(std::string_view input) {
    for (;;) {
      const size_t before = input.size();
      const Reader::Event event = reader_.Next(&input);
      at_ += before - input.size();
      Check(reader_.offset() == at_, "the offset is off");
      switch (event) {
        case Reader::Event::kNeedInput:
          Check(input.empty(), "wants input while it has some");
          return event;
        case Reader::Event::kEnd:
        case Reader::Event::kError:
          return event;
        case Reader::Event::kEntry:
          Begin(reader_.entry());
          if (!skip_ || !in_entry_) break;
          // As a seeking caller does: what is left of the piece is void.
          at_ = std::min<uint64_t>(at_ + reader_.SkipRest(), UINT64_MAX / 2);
          input = at_ < bytes_.size() ? bytes_.substr(at_, piece_)
                                      : std::string_view();
          if (at_ > bytes_.size()) return Reader::Event::kNeedInput;
          break;
        case Reader::Event::kBody:
          Append(reader_.body());
          break;
        case Reader::Event::kEntryEnd:
          End();
          break;
      }
    }
  }

  void Begin(const Entry& entry) {
    Check(!in_entry_, "an entry within an entry");
    Check(entry.path.size() <= kMaxNameBytes, "a name past the limit");
    Check(entry.link.size() <= kMaxNameBytes, "a link past the limit");
    Check(!entry.path.empty(), "an entry without a name");
    Check(entry.path.find('\0') == std::string::npos, "a NUL in a name");
    Check(entry.offset < entry.body_offset, "a body before its header");
    Check(entry.body_offset == at_, "a body offset that is off");
    Check(entry.EndOffset() % kBlockSize == 0, "an end between blocks");
    Check(entry.mode <= 07777, "a mode past its bits");
    in_entry_ = true;
    seen_ = 0;
    sum_ = 0;
    Say(entry);
  }

  void Append(std::string_view body) {
    Check(in_entry_, "data outside an entry");
    Check(!body.empty(), "an empty piece of data");
    seen_ += body.size();
    Check(seen_ <= reader_.entry().size, "data beyond the entry's size");
    for (char c : body) sum_ = sum_ * 31 + static_cast<unsigned char>(c);
  }

  void End() {
    Check(in_entry_, "an end without an entry");
    Check(at_ == reader_.entry().EndOffset(), "an entry of another length");
    Check(skip_ || seen_ == reader_.entry().size, "data is missing");
    in_entry_ = false;
    if (!skip_) transcript_.text += " sum " + std::to_string(sum_);
    transcript_.text += '\n';
  }

  void Say(const Entry& entry) {
    for (uint64_t number :
         {uint64_t{entry.mode}, static_cast<uint64_t>(entry.type), entry.size,
          entry.offset, entry.body_offset,
          static_cast<uint64_t>(entry.mtime.seconds),
          static_cast<uint64_t>(entry.mtime.nanoseconds)}) {
      transcript_.text += std::to_string(number) + ' ';
    }
    transcript_.text += Quote(entry.path) + " -> " + Quote(entry.link);
  }

  void Conclude(Reader::Event event) {
    if (event == Reader::Event::kEnd) return;
    Check(event == Reader::Event::kError, "neither end nor error");
    Check(reader_.error().code != Error::Code::kNone,
          "an error without a code");
    transcript_.error = reader_.error();
    transcript_.text += Describe(reader_.error());
  }

  const std::string_view bytes_;
  const size_t piece_;
  const bool skip_;
  uint64_t at_ = 0;
  Reader reader_;
  bool in_entry_ = false;
  uint64_t seen_ = 0;
  uint64_t sum_ = 0;
  Transcript transcript_;
};

}  // namespace

Transcript Exercise(std::string_view bytes, size_t piece, bool skip) {
  return Run(bytes, piece, skip).Go();
}

}  // namespace feedrate::tar
