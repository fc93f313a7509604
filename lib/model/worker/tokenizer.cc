#include "lib/model/worker/tokenizer.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace feedrate {
namespace {

// Each place of a text may look for a token of each length up to the longest.
constexpr size_t kMaxTokenBytes = 1024;

// The byte of two hexadecimal digits at `at`; -1 if they are not.
int HexByte(const std::string& line, size_t at) {
  if (at + 2 > line.size() ||
      !std::isxdigit(static_cast<unsigned char>(line[at])) ||
      !std::isxdigit(static_cast<unsigned char>(line[at + 1]))) {
    return -1;
  }
  return std::stoi(line.substr(at, 2), nullptr, 16);
}

// Removes the escapes. Returns false if one is unknown.
bool Unescape(const std::string& line, std::string* text) {
  static const auto* const escapes = new std::map<char, char>{
      {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}};
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      *text += line[i];
      continue;
    }
    ++i;
    const char kind = i < line.size() ? line[i] : '\0';
    const auto known = escapes->find(kind);
    if (known != escapes->end()) {
      *text += known->second;
      continue;
    }
    const int byte = kind == 'x' ? HexByte(line, i + 1) : -1;
    if (byte < 0) return false;
    *text += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

}  // namespace

Tokenizer::Tokenizer(std::vector<std::string> texts)
    : texts_(std::move(texts)) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    numbers_.emplace(texts_[i], i);
    size_t& longest = longest_[static_cast<unsigned char>(texts_[i][0])];
    longest = std::max(longest, texts_[i].size());
  }
}

Tokenizer Tokenizer::Bytes() {
  std::vector<std::string> texts;
  for (int i = 0; i < 256; ++i) texts.emplace_back(1, static_cast<char>(i));
  return Tokenizer(std::move(texts));
}

Tokenizer Tokenizer::FromFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read; is it there?");
  std::vector<std::string> texts;
  std::map<std::string, size_t> seen;
  for (std::string line; std::getline(in, line);) {
    const std::string place = path + ":" + std::to_string(texts.size() + 1);
    std::string text;
    if (!Unescape(line, &text)) {
      throw std::runtime_error(
          place + ": has an escape that is none of \\n \\r \\t \\\\ \\xNN");
    }
    if (text.empty()) throw std::runtime_error(place + ": is empty");
    if (text.size() > kMaxTokenBytes) {
      throw std::runtime_error(place + ": is longer than " +
                               std::to_string(kMaxTokenBytes) + " bytes");
    }
    if (!seen.emplace(text, texts.size()).second) {
      throw std::runtime_error(place + ": is there twice");
    }
    texts.push_back(text);
  }
  if (texts.empty()) throw std::runtime_error(path + ": has no tokens");
  return Tokenizer(std::move(texts));
}

std::vector<int64_t> Tokenizer::Encode(const std::string& text) const {
  std::vector<int64_t> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min(longest_[static_cast<unsigned char>(text[at])],
                             text.size() - at);
    auto found = numbers_.end();
    for (; length > 0; --length) {
      found = numbers_.find(text.substr(at, length));
      if (found != numbers_.end()) break;
    }
    if (found == numbers_.end()) {
      throw std::runtime_error("the tokenizer has no token for \"" +
                               text.substr(at, 8) + "\"");
    }
    tokens.push_back(found->second);
    at += length;
  }
  return tokens;
}

const std::string& Tokenizer::Text(int64_t token) const {
  if (token < 0 || token >= size()) {
    throw std::runtime_error("the model chose token " + std::to_string(token) +
                             ", but the tokenizer has " +
                             std::to_string(size()));
  }
  return texts_[token];
}

}  // namespace feedrate
