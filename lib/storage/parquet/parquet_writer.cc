// Writes Parquet files, of images in the form of Hugging Face's datasets.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/parquet/thrift.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

// As Hugging Face's datasets and pyarrow have it.
constexpr size_t kRowsOfAGroup = 100;
constexpr size_t kPageBytes = 1 << 20;
constexpr char kFeatures[] =
    R"({"info": {"features": {"image": {"_type": "Image"}}}})";

// Writes one column of `texts` in plain pages, and its part of the description.
void WriteTexts(const std::vector<absl::string_view>& texts,
                absl::string_view name, std::string* file,
                ThriftWriter* groups) {
  const size_t offset = file->size();
  for (size_t i = 0; i < texts.size();) {
    std::string values;
    const size_t first = i;
    for (; i < texts.size() && (i == first || values.size() < kPageBytes);
         ++i) {
      AppendLittleEndian32(static_cast<uint32_t>(texts[i].size()), &values);
      values.append(texts[i].data(), texts[i].size());
    }
    // Definition levels: all values of both optional parts are there.
    std::string run;
    AppendVarint((i - first) << 1, &run);
    run.push_back(2);
    std::string page;
    AppendLittleEndian32(static_cast<uint32_t>(run.size()), &page);
    page += run + values;
    ThriftWriter header(file);
    header.Int(1, parquet::kDataPage);
    header.Int(2, static_cast<int64_t>(page.size()));
    header.Int(3, static_cast<int64_t>(page.size()));
    header.Begin(5);
    header.Int(1, static_cast<int64_t>(i - first));
    header.Int(2, parquet::kPlain);
    header.Int(3, parquet::kRle);
    header.Int(4, parquet::kRle);
    header.End();
    header.End();
    file->append(page);
  }
  const auto bytes = static_cast<int64_t>(file->size() - offset);
  groups->BeginElement();
  groups->Long(2, static_cast<int64_t>(offset));
  groups->Begin(3);
  groups->Int(1, parquet::kByteArray);
  groups->List(2, ThriftWriter::kInts, 2);
  groups->IntElement(parquet::kPlain);
  groups->IntElement(parquet::kRle);
  groups->List(3, ThriftWriter::kTexts, 2);
  groups->TextElement("image");
  groups->TextElement(name);
  groups->Int(4, parquet::kUncompressed);
  groups->Long(5, static_cast<int64_t>(texts.size()));
  groups->Long(6, bytes);
  groups->Long(7, bytes);
  groups->Long(9, static_cast<int64_t>(offset));
  groups->End();
  groups->End();
}

void WriteSchema(ThriftWriter* footer) {
  footer->List(2, ThriftWriter::kStructs, 4);
  footer->BeginElement();
  footer->Text(4, "schema");
  footer->Int(5, 1);
  footer->End();
  footer->BeginElement();
  footer->Int(3, 1);
  footer->Text(4, "image");
  footer->Int(5, 2);
  footer->End();
  for (const char* name : {"bytes", "path"}) {
    footer->BeginElement();
    footer->Int(1, parquet::kByteArray);
    footer->Int(3, 1);
    footer->Text(4, name);
    // A text in UTF-8.
    if (absl::string_view(name) == "path") footer->Int(6, 0);
    footer->End();
  }
}

}  // namespace

std::string WriteParquetImages(const std::vector<ParquetImage>& images) {
  std::string file(kParquetMagic);
  std::string footer_bytes;
  ThriftWriter footer(&footer_bytes);
  footer.Int(1, 1);
  WriteSchema(&footer);
  footer.Long(3, static_cast<int64_t>(images.size()));
  footer.List(4, ThriftWriter::kStructs,
              (images.size() + kRowsOfAGroup - 1) / kRowsOfAGroup);
  for (size_t first = 0; first < images.size(); first += kRowsOfAGroup) {
    const size_t end = std::min(images.size(), first + kRowsOfAGroup);
    std::vector<absl::string_view> bytes, paths;
    for (size_t i = first; i < end; ++i) {
      bytes.push_back(images[i].bytes);
      paths.emplace_back(images[i].path);
    }
    const size_t before = file.size();
    footer.BeginElement();
    footer.List(1, ThriftWriter::kStructs, 2);
    WriteTexts(bytes, "bytes", &file, &footer);
    WriteTexts(paths, "path", &file, &footer);
    footer.Long(2, static_cast<int64_t>(file.size() - before));
    footer.Long(3, static_cast<int64_t>(end - first));
    footer.End();
  }
  footer.List(5, ThriftWriter::kStructs, 1);
  footer.BeginElement();
  footer.Text(1, "huggingface");
  footer.Text(2, kFeatures);
  footer.End();
  footer.Text(6, "feedrate");
  footer.End();
  file += footer_bytes;
  AppendLittleEndian32(static_cast<uint32_t>(footer_bytes.size()), &file);
  return absl::StrCat(file, kParquetMagic);
}

}  // namespace feedrate
