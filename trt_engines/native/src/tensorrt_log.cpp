#include "tensorrt_log.h"

#include "tensorrt_failure.h"

namespace antiphon {
namespace {

constexpr std::size_t kKeptMessages = 64;
constexpr std::size_t kKeptErrors = 8;

bool is_about_memory(nvinfer1::ErrorCode code, const std::string& text) {
  return code == nvinfer1::ErrorCode::kFAILED_ALLOCATION || text.find("out of memory") != std::string::npos ||
         text.find("OutOfMemory") != std::string::npos;
}

}  // namespace

TensorrtLog& TensorrtLog::instance() {
  static TensorrtLog* const log = new TensorrtLog;  // never destroyed: TensorRT may still speak when the process ends
  return *log;
}

void TensorrtLog::log(Severity severity, const nvinfer1::AsciiChar* text) noexcept {
  if (severity > Severity::kWARNING) {
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(static_cast<int>(severity), text);
    if (messages_.size() > kKeptMessages) {
      messages_.pop_front();
    }
  } catch (...) {  // no memory for a message: it is lost, and nothing may be thrown into TensorRT
  }
}

std::vector<TensorrtLog::Message> TensorrtLog::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Message> taken(messages_.begin(), messages_.end());
  messages_.clear();
  return taken;
}

std::int32_t TensorrtErrors::getNbErrors() const noexcept {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int32_t>(errors_.size());
}

nvinfer1::ErrorCode TensorrtErrors::getErrorCode(std::int32_t index) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(index);
  return place < errors_.size() ? errors_[place].first : nvinfer1::ErrorCode::kINVALID_ARGUMENT;
}

nvinfer1::IErrorRecorder::ErrorDesc TensorrtErrors::getErrorDesc(std::int32_t index) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(index);
  return place < errors_.size() ? errors_[place].second.c_str() : "";
}

bool TensorrtErrors::hasOverflowed() const noexcept {
  const std::lock_guard lock(mutex_);
  return has_overflowed_;
}

void TensorrtErrors::clear() noexcept {
  const std::lock_guard lock(mutex_);
  errors_.clear();
  has_overflowed_ = false;
}

bool TensorrtErrors::reportError(nvinfer1::ErrorCode code, ErrorDesc text) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (errors_.size() == kKeptErrors) {
      has_overflowed_ = true;
    } else {
      errors_.emplace_back(code, text);
    }
  } catch (...) {  // as above
  }
  return false;  // whether to go on is for the call that failed to say
}

void TensorrtErrors::raise(const std::string& what) {
  std::string words;
  bool is_out_of_memory = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [code, text] : errors_) {
      words += (words.empty() ? "" : "; ") + text;
      is_out_of_memory = is_out_of_memory || is_about_memory(code, text);
    }
  }
  clear();
  const std::string sentence = what + ": " + (words.empty() ? "TensorRT gives no reason" : words);
  if (is_out_of_memory) {
    throw TensorrtOutOfMemory(sentence);
  }
  throw TensorrtFailure(sentence);
}

}  // namespace antiphon
