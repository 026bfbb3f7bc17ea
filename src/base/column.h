// SPDX-License-Identifier: Apache-2.0
// Column<T>: a growable array of plain values, one per column of a trace table.
//
// std::vector copies on growth, so at the moment of doubling a column of n values needs 3n of
// memory. Column grows through realloc, which glibc turns into mremap for large blocks: the pages
// move, nothing is copied and the peak stays at the new size. Untouched capacity is never paged
// in. That keeps a multi-gigabyte trace inside its memory budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace hone {

template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>, "a column is moved by realloc");

 public:
  Column() = default;
  Column(Column&& other) noexcept { Swap(other); }
  Column& operator=(Column&& other) noexcept {
    Column moved(std::move(other));
    Swap(moved);
    return *this;
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { std::free(data_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::size_t capacity_bytes() const { return capacity_ * sizeof(T); }

  void push_back(T value) {
    if (size_ == capacity_) Reserve(capacity_ < 64 ? 64 : capacity_ + capacity_ / 2);
    data_[size_++] = value;
  }
  void resize(std::size_t size, T fill = T{}) {
    if (size > capacity_) Reserve(size);
    for (std::size_t i = size_; i < size; ++i) data_[i] = fill;
    size_ = size;
  }
  void clear() {
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void Append(const T* values, std::size_t count) {
    if (size_ + count > capacity_) {
      const std::size_t grown = capacity_ + capacity_ / 2;
      Reserve(size_ + count > grown ? size_ + count : grown);
    }
    for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = values[i];
    size_ += count;
  }
  void Reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    void* grown = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    HONE_CHECK(grown != nullptr);
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }

  // this[i] = old this[order[i]]; `order` is a permutation of the rows.
  void Permute(std::span<const std::uint32_t> order) {
    HONE_CHECK(order.size() == size_);
    Column permuted;
    permuted.Reserve(size_);
    for (const std::uint32_t row : order) permuted.data_[permuted.size_++] = data_[row];
    Swap(permuted);
  }

  void Swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace hone
