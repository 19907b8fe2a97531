// The counter-based random numbers of trt_engines/randomness.py, bit for bit.
#pragma once

#include <cstdint>

namespace antiphon {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// The finalizer of splitmix64.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

constexpr float uniform(std::uint64_t seed, std::uint64_t step_index, std::uint64_t column) {
  const std::uint64_t per_step = mix(mix(seed + kGolden) + (step_index + 1) * kGolden);
  const std::uint64_t bits = mix(per_step + (column + 1) * kGolden) >> 40U;
  return static_cast<float>(bits) * 0x1.0p-24F;
}

}  // namespace antiphon
