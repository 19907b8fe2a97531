// The part of the module `antiphon_native` that is there only if it was built with TENSORRT_ROOT.
#pragma once

#include <nanobind/nanobind.h>

namespace antiphon {

void add_tensorrt(nanobind::module_& module);

}  // namespace antiphon
