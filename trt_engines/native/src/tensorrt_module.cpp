#include "tensorrt_module.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "plan_session.h"
#include "tensorrt_failure.h"

namespace nb = nanobind;

namespace antiphon {
namespace {

using Released = nb::call_guard<nb::gil_scoped_release>;

Handle handle(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }

std::uintptr_t captured(PlanContext& context, std::uintptr_t stream,
                        const std::vector<std::tuple<Address, Address, std::size_t>>& copies) {
  std::vector<DeviceCopy> made;
  for (const auto& [target, source, byte_count] : copies) {
    made.push_back({target, source, byte_count});
  }
  return reinterpret_cast<std::uintptr_t>(context.capture(handle(stream), made));
}

std::unique_ptr<PlanContext> open_context(const PlanSession& session, int profile,
                                          std::map<std::string, std::vector<std::int64_t>> shapes,
                                          std::map<std::string, Address> addresses, Address workspace,
                                          std::int64_t workspace_bytes, std::uintptr_t stream) {
  return session.open_context(
      {profile, std::move(shapes), std::move(addresses), workspace, workspace_bytes, handle(stream)});
}

}  // namespace

void add_tensorrt(nb::module_& module) {
  const nb::object failure = nb::exception<TensorrtFailure>(module, "TensorrtFailure", PyExc_RuntimeError);
  nb::exception<TensorrtOutOfMemory>(module, "TensorrtOutOfMemory", failure);
  module.attr("TENSORRT_MAJOR") = NV_TENSORRT_MAJOR;
  module.def("take_tensorrt_messages", [] { return TensorrtLog::instance().take(); },
             "Return severity and text of TensorRT's warnings and errors since the last call.");

  nb::class_<PlanContext>(module, "PlanContext", "An execution context bound for good; see plan_session.h.")
      .def("bind", &PlanContext::bind, nb::arg("tensor"), nb::arg("address"))
      .def(
          "run", [](PlanContext& context, std::uintptr_t stream) { context.run(handle(stream)); }, nb::arg("stream"),
          Released())
      .def("shape", &PlanContext::shape, nb::arg("tensor"))
      .def("capture", &captured, nb::arg("stream"), nb::arg("copies"), Released());

  nb::class_<PlanSession>(module, "PlanSession", "A plan loaded on the GPU; see plan_session.h.")
      .def(
          "__init__",
          [](PlanSession* self, const std::string& cuda_library, const std::string& tensorrt_library,
             const std::string& name, const nb::bytes& plan, bool allows_host_code) {
            const void* const bytes = plan.data();  // the caller's, and they do not change
            const std::size_t byte_count = plan.size();
            const nb::gil_scoped_release released;  // it takes seconds
            new (self) PlanSession(cuda_library, tensorrt_library, name, bytes, byte_count, allows_host_code);
          },
          nb::arg("cuda_library"), nb::arg("tensorrt_library"), nb::arg("name"), nb::arg("plan"),
          nb::arg("allows_host_code"))
      .def_prop_ro("tensor_names", &PlanSession::tensor_names)
      .def("is_input", &PlanSession::is_input, nb::arg("tensor"))
      .def("is_on_device", &PlanSession::is_on_device, nb::arg("tensor"))
      .def("workspace_bytes", &PlanSession::workspace_bytes, nb::arg("profile"))
      .def("open_context", &open_context, nb::arg("profile"), nb::arg("shapes"), nb::arg("addresses"),
           nb::arg("workspace"), nb::arg("workspace_bytes"), nb::arg("stream"), Released());
}

}  // namespace antiphon
