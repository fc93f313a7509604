// Draws text with fonts made of any glyphs: the input describes the glyphs, so
// that most of them are valid, and then changes some bytes of the font. The
// outline must be the data of a path, and must not be endless.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/draw/testing/fonts.h"
#include "lib/draw/true_type.h"

namespace feedrate {
namespace {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool is_empty() const { return size_ == 0; }
  int Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int Word() {
    const int high = Byte();
    return high << 8 | Byte();
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

std::string SimpleGlyph(Input* input) {
  const int contours = input->Byte() % 6;
  std::string glyph = FontWords({contours, 0, 0, 0, 0});
  int end = -1;
  for (int i = 0; i < contours; ++i) {
    const int step = input->Byte();
    // Now and then thousands of points, which repeated flags make cheap.
    end += step < 250 ? step % 12 + 1 : input->Word();
    glyph += FontWords({end});
  }
  glyph += FontWords({0});
  for (int i = input->Byte(); i > 0; --i) {
    glyph += static_cast<char>(input->Byte());
  }
  return glyph;
}

std::string CompositeGlyph(Input* input, int glyphs) {
  std::string glyph = FontWords({-1, 0, 0, 0, 0});
  for (int parts = 1 + input->Byte() % 70; parts > 0; --parts) {
    const int scale = input->Byte() % 4;
    const int scales[] = {0, 0x08, 0x40, 0x80};
    const int more = parts > 1 ? 0x20 : 0;
    glyph +=
        FontWords({0x0001 | 0x0002 | more | scales[scale],
                   input->Byte() % (glyphs + 1), input->Word(), input->Word()});
    const int words[] = {0, 1, 2, 4};
    for (int i = 0; i < words[scale]; ++i) glyph += FontWords({input->Word()});
  }
  return glyph;
}

std::string Font(Input* input) {
  const int count = 2 + input->Byte() % 14;
  std::vector<std::string> glyphs;
  for (int i = 0; i < count; ++i) {
    const int kind = input->Byte() % 8;
    glyphs.push_back(kind == 0   ? ""
                     : kind == 1 ? TriangleGlyph()
                     : kind < 5  ? SimpleGlyph(input)
                                 : CompositeGlyph(input, count));
  }
  std::string font = FontOf(glyphs);
  while (!input->is_empty()) {
    font[static_cast<size_t>(input->Word()) % font.size()] =
        static_cast<char>(input->Byte());
  }
  return font;
}

void Draw(const std::string& bytes) {
  const auto font = TrueTypeFont::Parse(bytes);
  if (!font.ok()) return;
  constexpr absl::string_view kText = "ABCDEFGHIJKLMNOP?\xC3\xA9\xFF";
  CHECK_GE(font->Width(kText, 10), 0);
  const std::string path = font->PathOf(kText, 0, 0, 10);
  // Four numbers for each of at most 4000 points.
  CHECK_LE(path.size(), kText.size() * 4000 * 60);
  CHECK_EQ(path.find_first_not_of("MLQZ0123456789.- "), std::string::npos);
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::Input input(data, size);
  feedrate::Draw(feedrate::Font(&input));
  feedrate::Draw(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
