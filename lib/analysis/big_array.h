// Large arrays straight from the kernel.
#ifndef FEEDRATE_LIB_ANALYSIS_BIG_ARRAY_H_
#define FEEDRATE_LIB_ANALYSIS_BIG_ARRAY_H_

#include <cstddef>
#include <type_traits>
#include <utility>

namespace feedrate {

// Zeroed memory that goes back when it is freed, in huge pages where the kernel
// has them: small ones cost a fault each 4 KB, more than filling them does.
void* MapZeroed(size_t bytes);
void Unmap(void* memory, size_t bytes);

// `size` objects, all bits zero. Only pages that are touched take memory.
template <typename T>
class BigArray {
 public:
  static_assert(std::is_trivially_copyable<T>::value &&
                    std::is_trivially_destructible<T>::value,
                "zeroed bytes must be an object");

  BigArray() = default;
  explicit BigArray(size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<T*>(MapZeroed(size * sizeof(T)))),
        size_(size) {}
  BigArray(BigArray&& other) noexcept { Swap(&other); }
  BigArray& operator=(BigArray&& other) noexcept {
    Swap(&other);
    return *this;
  }
  ~BigArray() { Unmap(data_, size_ * sizeof(T)); }

  T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t index) const { return data_[index]; }

 private:
  void Swap(BigArray* other) {
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_BIG_ARRAY_H_
