// Numbers as little-endian bytes, at any address.
#ifndef FEEDRATE_LIB_STORAGE_LITTLE_ENDIAN_H_
#define FEEDRATE_LIB_STORAGE_LITTLE_ENDIAN_H_

#include <cstdint>
#include <string>

namespace feedrate {

// Compilers make one load or store of each of these.
inline uint64_t LittleEndian(const char* bytes, int size) {
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

inline uint32_t LittleEndian32(const char* bytes) {
  return static_cast<uint32_t>(LittleEndian(bytes, 4));
}
inline uint64_t LittleEndian64(const char* bytes) {
  return LittleEndian(bytes, 8);
}

inline void AppendLittleEndian(uint64_t value, int size, std::string* out) {
  for (int i = 0; i < size; ++i) {
    out->push_back(static_cast<char>(value >> (8 * i)));
  }
}

inline void AppendLittleEndian32(uint32_t value, std::string* out) {
  AppendLittleEndian(value, 4, out);
}
inline void AppendLittleEndian64(uint64_t value, std::string* out) {
  AppendLittleEndian(value, 8, out);
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_LITTLE_ENDIAN_H_
