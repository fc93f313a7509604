// Operations on whole channels.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_CHANNELS_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_CHANNELS_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::mixChannels    order=uniform, or (2,0,1): where each channel comes from
// cv::insertChannel  channels: how many are dropped, each as likely, or
//                    channel: which one; fill
// cv::add            r_shift, g_shift, b_shift: whole numbers, saturating
const OpTable& ChannelOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_CHANNELS_H_
