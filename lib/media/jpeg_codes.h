// The run of Huffman codes of a JPEG without what the format puts between its
// bytes: stuffed zeros and restart markers. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_CODES_H_
#define FEEDRATE_LIB_MEDIA_JPEG_CODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedrate {

class JpegCodeBytes {
 public:
  // One picture's codes can be read this far past their end, as zeros.
  static constexpr size_t kMargin = 4096;

  // Takes the bytes up to the first marker that is no restart marker, or is one
  // out of turn. Keeps its memory between pictures.
  void Assign(const uint8_t* data, size_t size, bool restarts);

  // Parts between restart markers, one at least.
  int parts() const { return static_cast<int>(begins_.size()) - 1; }
  const uint8_t* begin(int part) const { return &bytes_[begins_[part]]; }
  const uint8_t* end(int part) const { return &bytes_[begins_[part + 1]]; }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<size_t> begins_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_CODES_H_
