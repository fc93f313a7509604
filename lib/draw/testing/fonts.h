// Small TrueType fonts for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// Words of two bytes, as all of TrueType, the more significant byte first.
std::string FontWords(const std::vector<int>& words);
std::string FontWord32(uint32_t value);

// A triangle (0,0) (500,0) (250,700).
std::string TriangleGlyph();

// A font whose characters 'A', 'B', … are the glyphs 1, 2, … of 1000 units per
// em. Glyph 0, for characters that it lacks, is glyphs[0]; it may be empty. The
// advances are 400, 600, 350, 350, …
std::string FontOf(const std::vector<std::string>& glyphs);

}  // namespace feedrate
