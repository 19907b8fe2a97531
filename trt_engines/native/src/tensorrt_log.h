// Where TensorRT's messages and errors go: kept here until somebody asks, since its threads may not enter Python.
#pragma once

#include <NvInferRuntime.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace antiphon {

// The first logger that any of TensorRT's objects is given serves the whole process, so there is one, for good.
class TensorrtLog final : public nvinfer1::ILogger {
 public:
  using Message = std::pair<int, std::string>;  // severity, 0 and 1 for errors and 2 for a warning; text

  static TensorrtLog& instance();

  void log(Severity severity, const nvinfer1::AsciiChar* text) noexcept override;
  // Hands out the warnings and errors since the last call, oldest first; older ones are dropped when nobody asks.
  std::vector<Message> take();

 private:
  TensorrtLog() = default;

  std::mutex mutex_;
  std::deque<Message> messages_;
};

// The errors of one runtime and of whatever comes from it. Outlives all of them.
class TensorrtErrors final : public nvinfer1::IErrorRecorder {
 public:
  std::int32_t getNbErrors() const noexcept override;
  nvinfer1::ErrorCode getErrorCode(std::int32_t index) const noexcept override;
  ErrorDesc getErrorDesc(std::int32_t index) const noexcept override;
  bool hasOverflowed() const noexcept override;
  void clear() noexcept override;
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc text) noexcept override;
  RefCount incRefCount() noexcept override { return ++references_; }
  RefCount decRefCount() noexcept override { return --references_; }

  // Throws what was recorded as `what: words`, as TensorrtOutOfMemory if memory is the reason, and forgets it.
  [[noreturn]] void raise(const std::string& what);

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<nvinfer1::ErrorCode, std::string>> errors_;  // texts stay where they are while more come
  bool has_overflowed_ = false;
  std::atomic<RefCount> references_{0};
};

}  // namespace antiphon
