// Converts text to the token numbers of a language model. Standard library
// only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace feedrate {

// How many tokens a TorchScript model sees, which does not say it.
constexpr int64_t kScriptContext = 256;

// A list of tokens; the number of a token is its index. Text is split greedily
// into the longest matching tokens: no merges, no normalization, no library.
class Tokenizer {
 public:
  // 256 tokens, one per byte.
  static Tokenizer Bytes();
  // Reads a file with one token per line, in the order of their numbers, with
  // \n, \r, \t, \\ and \xNN for what a line cannot hold. std::runtime_error
  // with the position of a line that is empty, longer than 1,024 bytes,
  // repeated, or has an unknown escape.
  static Tokenizer FromFile(const std::string& path);

  // std::runtime_error if no token matches somewhere.
  std::vector<int64_t> Encode(const std::string& text) const;
  // Text of a token. std::runtime_error if there is no such token.
  const std::string& Text(int64_t token) const;
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }

 private:
  explicit Tokenizer(std::vector<std::string> texts);

  std::vector<std::string> texts_;
  std::map<std::string, int64_t> numbers_;
  // Length of the longest token, by first byte.
  std::array<size_t, 256> longest_ = {};
};

}  // namespace feedrate
