// One kernel for all that maps lines to lines: each pixel is read where the
// inverse map says, between four pixels of the input.
#include "lib/adapters/cuda/device_io.cuh"
#include "lib/adapters/cuda/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ Place PlaceOf(const Projection& projection, int x,
                                         int y, int height, int width,
                                         Edge edge) {
  Place place = ReadPlace(projection, x, y);
  place.x = NearImage(place.x, width, edge);
  place.y = NearImage(place.y, height, edge);
  return place;
}

// A warp covers 32 x 4 pixels, a thread four side by side; a block 64 x 16.
constexpr int kByteTileWidth = 64;
constexpr int kByteTileHeight = 16;

__device__ __forceinline__ uint32_t ByteTap(const ByteImage& image, int y,
                                            int x, Edge edge) {
  const int row = InsideOf(y, image.height, edge);
  const int column = InsideOf(x, image.width, edge);
  if (row < 0 || column < 0) return 0;
  return LoadPixel(image.data + row * image.stride + column * 3);
}

__device__ __forceinline__ uint32_t WarpedPixel(const ByteImage& image,
                                                const Projection& projection,
                                                int x, int y, Edge edge) {
  const Corner corner =
      CornerOf(PlaceOf(projection, x, y, image.height, image.width, edge));
  const uint32_t a = ByteTap(image, corner.y, corner.x, edge);
  // What only moves pixels reads them once.
  if (corner.right == 0 && corner.below == 0) return a;
  const uint32_t b = ByteTap(image, corner.y, corner.x + 1, edge);
  const uint32_t c = ByteTap(image, corner.y + 1, corner.x, edge);
  const uint32_t d = ByteTap(image, corner.y + 1, corner.x + 1, edge);
  float v[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    v[k] = Between(Between(ByteOf(a, k), ByteOf(b, k), corner.right),
                   Between(ByteOf(c, k), ByteOf(d, k), corner.right),
                   corner.below);
  }
  return PackBytes(v[0], v[1], v[2]);
}

// Four pixels side by side as they are. False where some of them lie outside.
__device__ __forceinline__ bool MovedPixels(const ByteImage& from,
                                            const Move& move, int x, int y,
                                            uint32_t p[4]) {
  const int row = move.flip_y ? move.y - y : move.y + y;
  const int first = move.flip_x ? move.x - x - 3 : move.x + x;
  if (row < 0 || row >= from.height || first < 0 || first + 4 > from.width) {
    return false;
  }
  const Quad quad = LoadQuad(from.data + row * from.stride + 3 * first);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    p[k] = move.flip_x ? PixelOf(quad, 3 - k) : PixelOf(quad, k);
  }
  return true;
}

__global__ __launch_bounds__(kThreads) void WarpBytesKernel(
    const ByteImage* in, const Projection* projections, Edge edge,
    const ByteImage* out) {
  const ByteImage from = in[blockIdx.z];
  const ByteImage to = out[blockIdx.z];
  const Projection projection = projections[blockIdx.z];
  Move move;
  const bool moves = OnlyMoves(projection, &move);
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  // What reads whole rows is the faster the longer they are.
  const int tile_x =
      moves ? (threadIdx.x & 15) * 4 : (warp & 1) * 32 + (lane & 7) * 4;
  const int tile_y = moves ? threadIdx.x >> 4 : (warp >> 1) * 4 + (lane >> 3);
  const int x = blockIdx.x * kByteTileWidth + tile_x;
  const int y = blockIdx.y * kByteTileHeight + tile_y;
  if (y >= to.height || x >= to.width) return;
  uint32_t p[4];
  if (moves && MovedPixels(from, move, x, y, p)) {
    StorePixels(to.data + y * to.stride + 3 * x, p, to.width - x);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    p[k] = WarpedPixel(from, projection, x + k, y, edge);
  }
  StorePixels(to.data + y * to.stride + 3 * x, p, to.width - x);
}

constexpr int kTile = 32;
// What a tile reads lies within so many pixels for turns of any angle at scale
// 1; rows of a multiple of eight, so that eight pixels in a row, 16 bytes each,
// lie in different banks.
constexpr int kBoxPixels = 48 * 50;

struct PlaneArgs {
  const float* in;
  float* out;
  const Projection* projections;
  int height;
  int width;
  Edge edge;
};

__device__ __forceinline__ float PlaneTap(const float* plane, int height,
                                          int width, int y, int x, Edge edge) {
  const int row = InsideOf(y, height, edge);
  const int column = InsideOf(x, width, edge);
  return row < 0 || column < 0 ? 0 : __ldg(plane + row * width + column);
}

__device__ __forceinline__ void GatherPixel(const PlaneArgs& args,
                                            const float* image,
                                            const Corner& corner, float v[3]) {
  const int plane = args.height * args.width;
  const bool inside = corner.x >= 0 && corner.x + 1 < args.width &&
                      corner.y >= 0 && corner.y + 1 < args.height;
  if (inside) {
    const float* at = image + corner.y * args.width + corner.x;
    float taps[3][4];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      taps[c][0] = __ldg(at + c * plane);
      taps[c][1] = __ldg(at + c * plane + 1);
      taps[c][2] = __ldg(at + c * plane + args.width);
      taps[c][3] = __ldg(at + c * plane + args.width + 1);
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      v[c] =
          Between(Between(taps[c][0], taps[c][1], corner.right),
                  Between(taps[c][2], taps[c][3], corner.right), corner.below);
    }
    return;
  }
  for (int c = 0; c < 3; ++c) {
    const float* at = image + c * plane;
    const auto tap = [&](int dy, int dx) {
      return PlaneTap(at, args.height, args.width, corner.y + dy, corner.x + dx,
                      args.edge);
    };
    v[c] = Between(Between(tap(0, 0), tap(0, 1), corner.right),
                   Between(tap(1, 0), tap(1, 1), corner.right), corner.below);
  }
}

// A block makes a tile of 32 x 32. Its warps are kWarpWidth pixels wide.
template <int kWarpWidth>
__device__ __forceinline__ int TileX(int lane, int warp) {
  return warp % (kTile / kWarpWidth) * kWarpWidth + lane % kWarpWidth;
}
template <int kWarpWidth>
__device__ __forceinline__ int TileY(int lane, int warp) {
  return warp / (kTile / kWarpWidth) * (32 / kWarpWidth) + lane / kWarpWidth;
}

__device__ __forceinline__ void StoreTilePixel(const PlaneArgs& args,
                                               int64_t image, int x, int y,
                                               const float v[3]) {
  const int plane = args.height * args.width;
  float* at = args.out + image + y * args.width + x;
#pragma unroll
  for (int c = 0; c < 3; ++c) __stcs(at + c * plane, v[c]);
}

template <int kWarpWidth>
__device__ __forceinline__ void GatherTile(const PlaneArgs& args,
                                           const Projection& projection) {
  const int64_t image =
      static_cast<int64_t>(blockIdx.z) * 3 * args.height * args.width;
  const int x = blockIdx.x * kTile +
                TileX<kWarpWidth>(threadIdx.x & 31, threadIdx.x / 32);
  const int first = blockIdx.y * kTile +
                    TileY<kWarpWidth>(threadIdx.x & 31, threadIdx.x / 32);
  // Eight warps cover 32 x 8 pixels at a time, whatever their shape.
#pragma unroll 2
  for (int y = first; y < first + kTile; y += 8) {
    if (x >= args.width || y >= args.height) continue;
    float v[3];
    GatherPixel(
        args, args.in + image,
        CornerOf(PlaceOf(projection, x, y, args.height, args.width, args.edge)),
        v);
    StoreTilePixel(args, image, x, y, v);
  }
}

template <int kWarpWidth>
__global__ __launch_bounds__(kThreads) void GatherKernel(PlaneArgs args) {
  GatherTile<kWarpWidth>(args, args.projections[blockIdx.z]);
}

// A quad of the texture units: the four pixels around a place in one fetch,
// each as it is in memory, so that results are those of the other paths.
__device__ __forceinline__ float4 QuadAt(cudaTextureObject_t texture, int x,
                                         int y) {
  // Between the centres of the four, half a pixel from where others start.
  return tex2Dgather<float4>(texture, static_cast<float>(x) + 1.0f,
                             static_cast<float>(y) + 1.0f, 0);
}

// Rows of a texture: all rows of a channel, then those of the next one.
template <bool kFiltered>
__global__ __launch_bounds__(kThreads) void TextureKernel(
    PlaneArgs args, WarpTextures textures) {
  const Projection projection = args.projections[blockIdx.z];
  const int64_t image =
      static_cast<int64_t>(blockIdx.z) * 3 * args.height * args.width;
  const cudaTextureObject_t texture =
      textures.objects[blockIdx.z / textures.images_each];
  const int top =
      static_cast<int>(blockIdx.z % textures.images_each) * 3 * args.height;
  const int x =
      blockIdx.x * kTile + TileX<16>(threadIdx.x & 31, threadIdx.x / 32);
  const int first =
      blockIdx.y * kTile + TileY<16>(threadIdx.x & 31, threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < kTile; i += 8) {
    const int y = first + i;
    if (x >= args.width || y >= args.height) continue;
    const Place place =
        PlaceOf(projection, x, y, args.height, args.width, args.edge);
    const Corner corner = CornerOf(place);
    float v[3];
    // Beyond the first and last rows lie other channels.
    if (corner.x < 0 || corner.x + 1 >= args.width || corner.y < 0 ||
        corner.y + 1 >= args.height) {
      GatherPixel(args, args.in + image, corner, v);
    } else if (kFiltered) {
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        v[c] = tex2D<float>(
            texture, place.x + 0.5f,
            place.y + 0.5f + static_cast<float>(top + c * args.height));
      }
    } else {
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        const float4 quad =
            QuadAt(texture, corner.x, corner.y + top + c * args.height);
        v[c] = Between(Between(quad.w, quad.z, corner.right),
                       Between(quad.x, quad.y, corner.right), corner.below);
      }
    }
    StoreTilePixel(args, image, x, y, v);
  }
}

// Pixels that a tile reads: columns left to left + pitch - 1, rows from top.
struct Box {
  int left;
  int top;
  int pitch;
  int rows;
};

__device__ __forceinline__ Box BoxOf(const PlaneArgs& args,
                                     const Projection& projection) {
  const int x = blockIdx.x * kTile;
  const int y = blockIdx.y * kTile;
  const int right = min(x + kTile, args.width) - 1;
  const int bottom = min(y + kTile, args.height) - 1;
  float low_x = 1e9f;
  float low_y = 1e9f;
  float high_x = -1e9f;
  float high_y = -1e9f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Place place =
        PlaceOf(projection, i & 1 ? right : x, i & 2 ? bottom : y, args.height,
                args.width, args.edge);
    low_x = fminf(low_x, place.x);
    high_x = fmaxf(high_x, place.x);
    low_y = fminf(low_y, place.y);
    high_y = fmaxf(high_y, place.y);
  }
  // Rounding may move a pixel of the middle beyond the corners.
  constexpr float kMargin = 0.01f;
  Box box;
  box.left = static_cast<int>(floorf(low_x - kMargin));
  box.top = static_cast<int>(floorf(low_y - kMargin));
  const int width = static_cast<int>(floorf(high_x + kMargin)) + 2 - box.left;
  box.pitch = (width + 7) / 8 * 8;
  box.rows = static_cast<int>(floorf(high_y + kMargin)) + 2 - box.top;
  return box;
}

// The corners of a tile bound what it reads unless the horizon runs through it.
__device__ __forceinline__ bool HasHorizon(const Projection& projection) {
  const float x = blockIdx.x * kTile;
  const float y = blockIdx.y * kTile;
  const auto w = [&](float dx, float dy) {
    return projection.h[6] * (x + dx) + projection.h[7] * (y + dy) + 1.0f;
  };
  return w(0, 0) <= 0 || w(kTile, 0) <= 0 || w(0, kTile) <= 0 ||
         w(kTile, kTile) <= 0;
}

__global__ __launch_bounds__(kThreads) void TileKernel(PlaneArgs args) {
  __shared__ float4 pixels[kBoxPixels];
  const Projection projection = args.projections[blockIdx.z];
  const Box box = BoxOf(args, projection);
  if (box.pitch * box.rows > kBoxPixels || HasHorizon(projection)) {
    GatherTile<8>(args, projection);
    return;
  }
  const int plane = args.height * args.width;
  const int64_t image = static_cast<int64_t>(blockIdx.z) * 3 * plane;
  const float* in = args.in + image;
  for (int i = threadIdx.x; i < box.pitch * box.rows; i += kThreads) {
    const int row = i / box.pitch;
    const int y = InsideOf(box.top + row, args.height, args.edge);
    const int x =
        InsideOf(box.left + i - row * box.pitch, args.width, args.edge);
    float4 pixel = make_float4(0, 0, 0, 0);
    if (y >= 0 && x >= 0) {
      const float* at = in + y * args.width + x;
      pixel.x = __ldg(at);
      pixel.y = __ldg(at + plane);
      pixel.z = __ldg(at + 2 * plane);
    }
    pixels[i] = pixel;
  }
  __syncthreads();
  const int x =
      blockIdx.x * kTile + TileX<8>(threadIdx.x & 31, threadIdx.x / 32);
  const int first =
      blockIdx.y * kTile + TileY<8>(threadIdx.x & 31, threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < kTile; i += 8) {
    const int y = first + i;
    if (x >= args.width || y >= args.height) continue;
    const Corner corner =
        CornerOf(PlaceOf(projection, x, y, args.height, args.width, args.edge));
    const float4* at =
        pixels + (corner.y - box.top) * box.pitch + corner.x - box.left;
    const float4 a = at[0];
    const float4 b = at[1];
    const float4 c = at[box.pitch];
    const float4 d = at[box.pitch + 1];
    const float v[3] = {Between(Between(a.x, b.x, corner.right),
                                Between(c.x, d.x, corner.right), corner.below),
                        Between(Between(a.y, b.y, corner.right),
                                Between(c.y, d.y, corner.right), corner.below),
                        Between(Between(a.z, b.z, corner.right),
                                Between(c.z, d.z, corner.right), corner.below)};
    StoreTilePixel(args, image, x, y, v);
  }
}

}  // namespace

cudaError_t WarpBytes(const ByteImage* in, const Projection* projections,
                      int count, Edge edge, const ByteImage* out,
                      int max_height, int max_width, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  if (edge == Edge::kReflect) return cudaErrorInvalidValue;
  const dim3 grid((max_width + kByteTileWidth - 1) / kByteTileWidth,
                  (max_height + kByteTileHeight - 1) / kByteTileHeight, count);
  WarpBytesKernel<<<grid, kThreads, 0, stream>>>(in, projections, edge, out);
  return cudaGetLastError();
}

cudaError_t MakeWarpTextures(const Planes& in, WarpTextures* textures) {
  cudaDeviceProp device;
  cudaError_t error = cudaGetDeviceProperties(&device, 0);
  if (error != cudaSuccess) return error;
  const int rows = 3 * in.height;
  const int64_t image = int64_t{4} * rows * in.width;
  // As many images as fit, each texture at an address that may start one.
  int each = rows > 0 ? device.maxTexture2DLinear[1] / rows : 0;
  while (each > 0 && each * image % device.textureAlignment != 0) --each;
  const bool fits = each > 0 && in.width <= device.maxTexture2DLinear[0] &&
                    4 * in.width % device.texturePitchAlignment == 0 &&
                    (in.count + each - 1) / each <= WarpTextures::kMost;
  if (!fits) return cudaErrorNotSupported;
  *textures = WarpTextures();
  textures->images_each = each;
  for (int first = 0; first < in.count; first += each) {
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypePitch2D;
    memory.res.pitch2D.devPtr = in.data + first * (image / 4);
    memory.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    memory.res.pitch2D.width = in.width;
    memory.res.pitch2D.height = min(each, in.count - first) * rows;
    memory.res.pitch2D.pitchInBytes = int64_t{4} * in.width;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    error = cudaCreateTextureObject(&textures->objects[textures->count],
                                    &memory, &how, nullptr);
    if (error != cudaSuccess) {
      FreeWarpTextures(textures);
      return error;
    }
    ++textures->count;
  }
  return cudaSuccess;
}

void FreeWarpTextures(WarpTextures* textures) {
  for (int i = 0; i < textures->count; ++i) {
    cudaDestroyTextureObject(textures->objects[i]);
  }
  *textures = WarpTextures();
}

cudaError_t WarpPlanes(const Planes& in, const Projection* projections,
                       Edge edge, WarpPath path, float* out,
                       cudaStream_t stream, const WarpTextures* textures) {
  if (in.count == 0) return cudaSuccess;
  if (edge == Edge::kReflect) return cudaErrorInvalidValue;
  const bool fetches = path == WarpPath::kQuads || path == WarpPath::kFiltered;
  if (fetches && (textures == nullptr || textures->count == 0)) {
    return cudaErrorInvalidValue;
  }
  const PlaneArgs args = {in.data, out, projections, in.height, in.width, edge};
  const dim3 grid((in.width + kTile - 1) / kTile,
                  (in.height + kTile - 1) / kTile, in.count);
  switch (path) {
    case WarpPath::kTile:
      TileKernel<<<grid, kThreads, 0, stream>>>(args);
      break;
    case WarpPath::kGather8:
      GatherKernel<8><<<grid, kThreads, 0, stream>>>(args);
      break;
    case WarpPath::kGather16:
      GatherKernel<16><<<grid, kThreads, 0, stream>>>(args);
      break;
    case WarpPath::kQuads:
      TextureKernel<false><<<grid, kThreads, 0, stream>>>(args, *textures);
      break;
    case WarpPath::kFiltered:
      TextureKernel<true><<<grid, kThreads, 0, stream>>>(args, *textures);
      break;
    case WarpPath::kGather32:
      GatherKernel<32><<<grid, kThreads, 0, stream>>>(args);
      break;
  }
  return cudaGetLastError();
}

}  // namespace feedrate::fused
