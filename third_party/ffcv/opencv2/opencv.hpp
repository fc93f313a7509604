// What FFCV uses of OpenCV's header of this name, which would ask for all of it.
#pragma once
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
