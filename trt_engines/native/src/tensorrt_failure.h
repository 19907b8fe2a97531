// What goes wrong with TensorRT, as sentences.
#pragma once

#include <stdexcept>

namespace antiphon {

class TensorrtFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The GPU has no room for what TensorRT wanted to allocate; everything allocated before is still there.
class TensorrtOutOfMemory : public TensorrtFailure {
 public:
  using TensorrtFailure::TensorrtFailure;
};

}  // namespace antiphon
