#include "lib/model/checkpoint_header.h"

#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

// Without a checksum.
constexpr char kOldFirstLine[] = "feedrate_checkpoint 1";
constexpr char kFirstLine[] = "feedrate_checkpoint 2";
constexpr char kSha256[] = "sha256 ";
// More than any tensor, little enough that products do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 46;
// All lines of the header together; names of a million classes fit. A file
// without a newline would be read whole otherwise.
constexpr size_t kMaxHeaderBytes = size_t{64} << 20;

// Returns 0 for an unknown type.
int64_t BytesOfType(const std::string& type) {
  if (type == "f32") return 4;
  if (type == "bf16") return 2;
  return type == "i64" ? 8 : 0;
}

// Parses `word`, such as "384,128", or "-" for a single number.
bool ParseShape(const std::string& word, CheckpointTensor* tensor) {
  tensor->bytes = BytesOfType(tensor->type);
  if (word == "-") return true;
  bool is_empty = false;
  std::istringstream in(word);
  for (std::string text; std::getline(in, text, ',');) {
    char* end = nullptr;
    const int64_t size = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || size < 0) return false;
    tensor->shape.push_back(size);
    if (size == 0) {
      is_empty = true;
    } else if (tensor->bytes > kMaxBytes / size) {
      // Also in an empty tensor, whose strides are products too.
      return false;
    } else {
      tensor->bytes *= size;
    }
  }
  if (is_empty) tensor->bytes = 0;
  return !tensor->shape.empty() && tensor->shape.size() <= 4;
}

class HeaderReader {
 public:
  HeaderReader(std::istream& in, CheckpointHeader* header)
      : in_(in), header_(*header) {}

  std::string Read() {
    std::string line;
    if (!NextLine(&line) || (line != kFirstLine && line != kOldFirstLine)) {
      return "is not a checkpoint; `train --checkpoint` writes them";
    }
    if (line == kFirstLine) {
      const size_t digest = sizeof(kSha256) - 1;
      if (!NextLine(&line) || line.rfind(kSha256, 0) != 0 ||
          line.size() != digest + Sha256::kHexSize) {
        return "has no checksum in its second line";
      }
      header_.sha256 = line.substr(digest);
    }
    while (NextLine(&line)) {
      if (line == "data") return "";
      const std::string wrong = ReadLine(line);
      if (!wrong.empty()) return wrong;
    }
    return left_ == 0 ? "has a header of more than 64 MiB"
                      : "ends within its header";
  }

 private:
  // As std::getline, within the bytes that are left.
  bool NextLine(std::string* line) {
    line->clear();
    std::streambuf* const bytes = in_.rdbuf();
    for (; left_ > 0; --left_) {
      const int byte = bytes->sbumpc();
      if (byte == std::char_traits<char>::eof()) {
        in_.setstate(std::ios::eofbit);
        return !line->empty();
      }
      if (byte == '\n') return true;
      line->push_back(static_cast<char>(byte));
    }
    return false;
  }

  std::string ReadLine(const std::string& line) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind == "meta" && !name.empty()) {
      std::string value;
      std::getline(words >> std::ws, value);
      const bool is_new = header_.meta.emplace(name, value).second;
      return is_new ? "" : "has " + name + " twice";
    }
    CheckpointTensor tensor;
    tensor.name = name;
    std::string shape, more;
    words >> tensor.type >> shape;
    if (kind != "tensor" || BytesOfType(tensor.type) == 0 || words >> more) {
      return "\"" + line.substr(0, 80) + "\" is not a line of a checkpoint";
    }
    if (!ParseShape(shape, &tensor)) {
      return "\"" + shape.substr(0, 80) + "\" is not a shape of a tensor";
    }
    if (!names_.insert(name).second) return "has " + name + " twice";
    header_.tensors.push_back(std::move(tensor));
    return "";
  }

  std::istream& in_;
  CheckpointHeader& header_;
  size_t left_ = kMaxHeaderBytes;
  std::set<std::string> names_;
};

}  // namespace

std::string ReadCheckpointHeader(std::istream& in, CheckpointHeader* header) {
  return HeaderReader(in, header).Read();
}

std::string CheckCheckpoint(std::istream& in, CheckpointHeader* header) {
  const std::string wrong = ReadCheckpointHeader(in, header);
  if (!wrong.empty() || header->sha256.empty()) return wrong;
  in.clear();
  in.seekg(0);
  std::string line;
  std::getline(in, line);
  std::getline(in, line);
  Sha256 hash;
  std::vector<char> part(size_t{1} << 20);
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())) ||
         in.gcount() > 0) {
    hash.Update(part.data(), static_cast<size_t>(in.gcount()));
  }
  char hex[Sha256::kHexSize + 1];
  hash.FinishHex(hex);
  if (header->sha256 == hex) return "";
  return "is damaged: its checksum is not that of its content; take another "
         "copy, or train again";
}

std::string PrintCheckpointHeader(const CheckpointHeader& header) {
  const std::string first =
      header.sha256.empty()
          ? std::string(kOldFirstLine) + "\n"
          : std::string(kFirstLine) + "\n" + kSha256 + header.sha256 + "\n";
  return first + PrintCheckpointLines(header);
}

std::string PrintCheckpointLines(const CheckpointHeader& header) {
  std::ostringstream text;
  for (const auto& entry : header.meta) {
    text << "meta " << entry.first << ' ' << entry.second << '\n';
  }
  for (const CheckpointTensor& tensor : header.tensors) {
    text << "tensor " << tensor.name << ' ' << tensor.type << ' '
         << (tensor.shape.empty() ? "-" : "");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      text << (i == 0 ? "" : ",") << tensor.shape[i];
    }
    text << '\n';
  }
  text << "data\n";
  return text.str();
}

}  // namespace feedrate
