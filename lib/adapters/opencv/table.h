// Tables for cv::LUT.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_TABLE_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_TABLE_H_

#include <array>
#include <cstdint>

#include "opencv2/core.hpp"

namespace feedrate {

// What each value becomes.
using Table = std::array<uint8_t, 256>;

// From a function of the value; rounded to the nearest, saturating.
template <typename Function>
Table MakeTable(Function&& function) {
  Table table;
  for (int i = 0; i < 256; ++i) {
    table[i] = cv::saturate_cast<uint8_t>(static_cast<double>(function(i)));
  }
  return table;
}

// For cv::LUT. A view: `table` must outlive it.
inline cv::Mat TableMat(const Table& table) {
  return cv::Mat(1, 256, CV_8U, const_cast<uint8_t*>(table.data()));
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_TABLE_H_
