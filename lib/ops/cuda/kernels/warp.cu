// One kernel for all projective maps: each output pixel is read where the
// inverse map says, interpolated between four input pixels.
#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ Place PlaceOf(const Projection& projection, int x,
                                         int y, int height, int width,
                                         Edge edge) {
  Place place = ProjectedPlace(projection, x, y);
  place.x = NearImage(place.x, width, edge);
  place.y = NearImage(place.y, height, edge);
  return place;
}

// A warp covers 32 x 4 pixels, a thread four adjacent ones, a block 64 x 16.
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
                                                const Words& words,
                                                const Projection& projection,
                                                int x, int y, Edge edge) {
  const Corner corner =
      CornerOf(PlaceOf(projection, x, y, image.height, image.width, edge));
  const bool inside = corner.x >= 0 && corner.x + 1 < image.width &&
                      corner.y >= 0 && corner.y + 1 < image.height;
  PixelPair above;
  PixelPair below;
  if (inside) {
    const auto stride = static_cast<uint32_t>(image.stride);
    const uint32_t at = words.start + corner.y * stride + corner.x * 3;
    above = LoadPairAt(words.words, at);
    below = LoadPairAt(words.words, at + stride);
  } else {
    above = PairOf(ByteTap(image, corner.y, corner.x, edge),
                   ByteTap(image, corner.y, corner.x + 1, edge));
    below = PairOf(ByteTap(image, corner.y + 1, corner.x, edge),
                   ByteTap(image, corner.y + 1, corner.x + 1, edge));
  }
  const uint32_t weights = PackWeights(1 - corner.right, corner.right);
  float upper[3];
  float lower[3];
  Interpolate(above, weights, upper);
  Interpolate(below, weights, lower);
  float v[3];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    v[c] = Between(upper[c], lower[c], corner.below) * (1 / kWhole);
  }
  return PackLevels(v);
}

// Loads four adjacent pixels unchanged. Returns false if some of them lie
// outside.
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
  // Reading whole rows is faster the longer they are.
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
  const Words words = WordsOf(from.data);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    p[k] = WarpedPixel(from, words, projection, x + k, y, edge);
  }
  StorePixels(to.data + y * to.stride + 3 * x, p, to.width - x);
}

constexpr int kTile = 32;
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

// A block makes a tile of 32 x 32. Its warps are 16 pixels wide.
__device__ __forceinline__ int TileX(int lane, int warp) {
  return warp % 2 * 16 + lane % 16;
}
__device__ __forceinline__ int TileY(int lane, int warp) {
  return warp / 2 * 2 + lane / 16;
}

__device__ __forceinline__ void StoreTilePixel(const PlaneArgs& args,
                                               int64_t image, int x, int y,
                                               const float v[3]) {
  const int plane = args.height * args.width;
  float* at = args.out + image + y * args.width + x;
#pragma unroll
  for (int c = 0; c < 3; ++c) __stcs(at + c * plane, v[c]);
}

// The four pixels around a position in one texture fetch, unchanged.
__device__ __forceinline__ float4 QuadAt(cudaTextureObject_t texture, int x,
                                         int y) {
  // The point between the four centers, half a pixel from the usual origin.
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
  const int x = blockIdx.x * kTile + TileX(threadIdx.x & 31, threadIdx.x / 32);
  const int first =
      blockIdx.y * kTile + TileY(threadIdx.x & 31, threadIdx.x / 32);
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
  // As many images as fit, with each texture at an aligned address.
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
                       const WarpTextures& textures, Edge edge, WarpPath path,
                       float* out, cudaStream_t stream) {
  if (in.count == 0) return cudaSuccess;
  if (edge == Edge::kReflect) return cudaErrorInvalidValue;
  if (textures.count == 0) return cudaErrorInvalidValue;
  const PlaneArgs args = {in.data, out, projections, in.height, in.width, edge};
  const dim3 grid((in.width + kTile - 1) / kTile,
                  (in.height + kTile - 1) / kTile, in.count);
  switch (path) {
    case WarpPath::kQuads:
      TextureKernel<false><<<grid, kThreads, 0, stream>>>(args, textures);
      break;
    case WarpPath::kFiltered:
      TextureKernel<true><<<grid, kThreads, 0, stream>>>(args, textures);
      break;
  }
  return cudaGetLastError();
}

}  // namespace feedrate::fused
