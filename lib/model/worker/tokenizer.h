// Text as the numbers that a language model takes. Standard library only.
#ifndef FEEDRATE_LIB_MODEL_WORKER_TOKENIZER_H_
#define FEEDRATE_LIB_MODEL_WORKER_TOKENIZER_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace feedrate {

// A list of tokens; a token's number is its place. Text is cut into the longest
// token that fits, again and again: no merges, no normalising, no library.
class Tokenizer {
 public:
  // 256 tokens, each byte its own.
  static Tokenizer Bytes();
  // A token a line, in the order of their numbers, with \n, \r, \t, \\ and \xNN
  // for what a line cannot hold. std::runtime_error with the place of a line
  // that is empty, is there twice or has another escape.
  static Tokenizer FromFile(const std::string& path);

  // std::runtime_error when no token fits somewhere.
  std::vector<int64_t> Encode(const std::string& text) const;
  // The text of one. std::runtime_error when there is no such number.
  const std::string& Text(int64_t token) const;
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }

 private:
  explicit Tokenizer(std::vector<std::string> texts);

  std::vector<std::string> texts_;
  std::map<std::string, int64_t> numbers_;
  // By its first byte, bytes of the longest token.
  std::array<size_t, 256> longest_ = {};
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_TOKENIZER_H_
