// A queue between one producer and one consumer thread, without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace antiphon {

template <typename T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : items_(capacity + 1) {}

  // Producer: returns false, and leaves the item alone, when the ring is full.
  bool push(T& item) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t next = (tail + 1) % items_.size();
    if (next == head_.load(std::memory_order_acquire)) {
      return false;
    }
    items_[tail] = std::move(item);
    tail_.store(next, std::memory_order_release);
    return true;
  }

  // Consumer: returns false when the ring is empty.
  bool pop(T& item) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) {
      return false;
    }
    item = std::move(items_[head]);
    head_.store((head + 1) % items_.size(), std::memory_order_release);
    return true;
  }

 private:
  std::vector<T> items_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace antiphon
