#include "lib/media/video/nvdec/nvdec_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr int kDelay = 4;

// What the engine was told.
struct Told {
  std::vector<CUVIDDECODECREATEINFO> created;
  std::vector<CUVIDRECONFIGUREDECODERINFO> reconfigured;
  int destroyed = 0;
  int asked = 0;
  int reconfigure_result = 0;
  int create_result = 0;
  bool supported = true;
};
Told told;

Nvcuvid Library() {
  Nvcuvid library;
  library.get_decoder_caps = [](CUVIDDECODECAPS* caps) {
    ++told.asked;
    caps->bIsSupported = told.supported;
    caps->nOutputFormatMask = 1;
    caps->nMinWidth = caps->nMinHeight = 48;
    caps->nMaxWidth = caps->nMaxHeight = 4096;
    caps->nMaxMBCount = 36864;
    return CUDA_SUCCESS;
  };
  library.create_decoder = [](CUvideodecoder* decoder,
                              CUVIDDECODECREATEINFO* info) {
    if (told.create_result != 0) {
      return static_cast<CUresult>(told.create_result);
    }
    told.created.push_back(*info);
    *decoder = &told;
    return CUDA_SUCCESS;
  };
  library.destroy_decoder = [](CUvideodecoder) {
    ++told.destroyed;
    return CUDA_SUCCESS;
  };
  library.reconfigure_decoder = [](CUvideodecoder,
                                   CUVIDRECONFIGUREDECODERINFO* info) {
    told.reconfigured.push_back(*info);
    return static_cast<CUresult>(told.reconfigure_result);
  };
  return library;
}

CUVIDEOFORMAT Format(unsigned width, unsigned height) {
  CUVIDEOFORMAT format = {};
  format.codec = cudaVideoCodec_H264;
  format.chroma_format = cudaVideoChromaFormat_420;
  format.min_num_decode_surfaces = 6;
  format.coded_width = width;
  format.coded_height = height;
  format.display_area.right = static_cast<int>(width);
  format.display_area.bottom = static_cast<int>(height);
  return format;
}

class NvdecEngineTest : public ::testing::Test {
 protected:
  NvdecEngineTest() { told = Told(); }

  int Fit(const CUVIDEOFORMAT& format) {
    const absl::StatusOr<int> surfaces = engine_.Fit(format, kDelay);
    EXPECT_TRUE(surfaces.ok()) << surfaces.status();
    return surfaces.value_or(0);
  }

  const Nvcuvid library_ = Library();
  NvdecEngine engine_{library_, nullptr};
};

TEST_F(NvdecEngineTest, TheSameSizeTakesNothing) {
  // Pictures of the parser, those waiting to be shown, and the one being
  // decoded.
  EXPECT_EQ(Fit(Format(320, 240)), 6 + kDelay + 1);
  EXPECT_EQ(Fit(Format(320, 240)), 6 + kDelay + 1);
  ASSERT_EQ(told.created.size(), 1u);
  EXPECT_TRUE(told.reconfigured.empty());
  EXPECT_EQ(told.asked, 1);
  const CUVIDDECODECREATEINFO& info = told.created[0];
  EXPECT_EQ(info.ulWidth, 320u);
  EXPECT_EQ(info.ulHeight, 240u);
  EXPECT_EQ(info.ulTargetWidth, 320u);
  EXPECT_EQ(info.ulTargetHeight, 240u);
  EXPECT_EQ(info.ulMaxWidth, 320u);
  EXPECT_EQ(info.ulMaxHeight, 240u);
  EXPECT_EQ(info.ulNumDecodeSurfaces, 11u);
  EXPECT_EQ(info.CodecType, cudaVideoCodec_H264);
  EXPECT_EQ(info.ChromaFormat, cudaVideoChromaFormat_420);
  EXPECT_EQ(info.OutputFormat, cudaVideoSurfaceFormat_NV12);
}

TEST_F(NvdecEngineTest, ASmallerSizeIsReconfigured) {
  Fit(Format(320, 240));
  Fit(Format(160, 128));
  Fit(Format(320, 240));
  EXPECT_EQ(told.created.size(), 1u);
  ASSERT_EQ(told.reconfigured.size(), 2u);
  EXPECT_EQ(told.reconfigured[0].ulWidth, 160u);
  EXPECT_EQ(told.reconfigured[0].ulTargetHeight, 128u);
  EXPECT_EQ(told.reconfigured[0].display_area.right, 160);
  EXPECT_EQ(told.reconfigured[0].display_area.bottom, 128);
  EXPECT_EQ(told.reconfigured[0].ulNumDecodeSurfaces, 11u);
  EXPECT_EQ(engine_.counts().reconfigured, 2);
}

TEST_F(NvdecEngineTest, LargerSizesMakeRoomForAllSoFar) {
  Fit(Format(320, 240));
  Fit(Format(240, 320));
  EXPECT_EQ(told.created.size(), 2u);
  EXPECT_EQ(told.destroyed, 1);
  EXPECT_EQ(told.created[1].ulWidth, 240u);
  EXPECT_EQ(told.created[1].ulMaxWidth, 320u);
  EXPECT_EQ(told.created[1].ulMaxHeight, 320u);
  Fit(Format(320, 240));
  Fit(Format(240, 320));
  EXPECT_EQ(engine_.counts().created, 2);
}

TEST_F(NvdecEngineTest, RoomIsNoMoreThanTheEngineHas) {
  Fit(Format(4096, 1024));
  Fit(Format(1024, 4096));
  ASSERT_EQ(told.created.size(), 2u);
  EXPECT_EQ(told.created[1].ulMaxWidth, 1024u);
  EXPECT_EQ(told.created[1].ulMaxHeight, 4096u);
}

TEST_F(NvdecEngineTest, MoreSurfacesOrAnotherCodecMakeANewOne) {
  CUVIDEOFORMAT format = Format(320, 240);
  Fit(format);
  format.min_num_decode_surfaces = 12;
  EXPECT_EQ(Fit(format), 12 + kDelay + 1);
  EXPECT_EQ(engine_.counts().created, 2);
  format.min_num_decode_surfaces = 6;
  EXPECT_EQ(Fit(format), 6 + kDelay + 1);
  EXPECT_EQ(engine_.counts().created, 2);
  format.codec = cudaVideoCodec_MPEG4;
  Fit(format);
  EXPECT_EQ(engine_.counts().created, 3);
  EXPECT_EQ(told.asked, 2);
  format.min_num_decode_surfaces = 40;
  EXPECT_EQ(Fit(format), 32);
}

TEST_F(NvdecEngineTest, WhatCannotBeReconfiguredIsMadeAnew) {
  told.reconfigure_result = 801;
  Fit(Format(320, 240));
  Fit(Format(160, 128));
  EXPECT_EQ(engine_.counts().created, 2);
  EXPECT_EQ(engine_.counts().reconfigured, 0);
}

TEST_F(NvdecEngineTest, SaysWhatIsNotForIt) {
  std::vector<CUVIDEOFORMAT> formats(9, Format(320, 240));
  formats[0].bit_depth_luma_minus8 = 2;
  formats[1].chroma_format = cudaVideoChromaFormat_444;
  formats[2].coded_width = 321;
  formats[3].display_area.left = 1;
  formats[4].coded_width = 32;
  formats[5].coded_height = 4098;
  formats[6].coded_width = formats[6].coded_height = 4096;
  formats[7].display_area.right = 322;
  formats[8].display_area.top = 240;
  for (const CUVIDEOFORMAT& format : formats) {
    EXPECT_TRUE(absl::IsUnimplemented(engine_.Fit(format, kDelay).status()));
  }
  told.supported = false;
  CUVIDEOFORMAT other = Format(320, 240);
  other.codec = cudaVideoCodec_VP9;
  EXPECT_TRUE(absl::IsUnimplemented(engine_.Fit(other, kDelay).status()));
  EXPECT_TRUE(told.created.empty());
}

TEST_F(NvdecEngineTest, AFailureNamesCallAndCode) {
  told.create_result = 2;
  const absl::Status made = engine_.Fit(Format(320, 240), kDelay).status();
  EXPECT_TRUE(absl::IsResourceExhausted(made));
  EXPECT_THAT(std::string(made.message()),
              HasSubstr("cuvidCreateDecoder: error 2 (out of memory)"));
  told.create_result = 0;
  Fit(Format(320, 240));
  engine_.Reset();
  EXPECT_EQ(told.destroyed, 1);
}

}  // namespace
}  // namespace feedrate
