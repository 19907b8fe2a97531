// antiphon_native: the step loop, and with TensorRT the sessions, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "step_loop.h"
#ifdef ANTIPHON_HAS_TENSORRT
#include "tensorrt_module.h"
#endif

namespace nb = nanobind;
using antiphon::Address;
using antiphon::Handle;
using antiphon::StepDevice;
using antiphon::StepLayout;
using antiphon::StepLoop;

namespace {

Handle handle(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }

StepDevice device(std::uintptr_t stream, Address upload, Address download,
                  const std::pair<std::uintptr_t, std::uintptr_t>& uploads,
                  const std::pair<std::uintptr_t, std::uintptr_t>& downloads,
                  const std::vector<std::pair<std::size_t, std::uintptr_t>>& graphs) {
  StepDevice made;
  made.stream = handle(stream);
  made.upload = upload;
  made.download = download;
  made.host_uploads = {static_cast<std::uint8_t*>(handle(uploads.first)),
                       static_cast<std::uint8_t*>(handle(uploads.second))};
  made.host_downloads = {static_cast<std::uint8_t*>(handle(downloads.first)),
                         static_cast<std::uint8_t*>(handle(downloads.second))};
  for (const auto& [rows, graph] : graphs) {
    made.graphs.emplace_back(rows, handle(graph));
  }
  return made;
}

}  // namespace

NB_MODULE(antiphon_native, module) {
  module.doc() = "Antiphon's step loop without the interpreter lock.";
  nb::exception<antiphon::CudaFailure>(module, "CudaFailure", PyExc_RuntimeError);

  nb::class_<StepLayout>(module, "StepLayout", "Where the tensors of a step lie in the two blocks, in bytes.")
      .def(nb::init<>())
      .def_rw("row_count", &StepLayout::row_count)
      .def_rw("active_offset", &StepLayout::active_offset)
      .def_rw("params_offset", &StepLayout::params_offset)
      .def_rw("param_count", &StepLayout::param_count)
      .def_rw("random_offset", &StepLayout::random_offset)
      .def_rw("random_count", &StepLayout::random_count)
      .def_rw("upload_bytes", &StepLayout::upload_bytes)
      .def_rw("frame_offset", &StepLayout::frame_offset)
      .def_rw("frame_row_bytes", &StepLayout::frame_row_bytes)
      .def_rw("emit_offset", &StepLayout::emit_offset)
      .def_rw("done_offset", &StepLayout::done_offset)
      .def_rw("finite_offset", &StepLayout::finite_offset)
      .def_rw("row_ids_offset", &StepLayout::row_ids_offset)
      .def_rw("row_ids_row_bytes", &StepLayout::row_ids_row_bytes)
      .def_rw("download_bytes", &StepLayout::download_bytes);

  nb::class_<StepLoop>(module, "StepLoop", "Steps rows ahead of those who ask; see step_loop.h.")
      .def(
          "__init__",
          [](StepLoop* self, const std::string& library, const StepLayout& layout, std::size_t depth,
             std::uintptr_t stream, Address upload, Address download,
             const std::pair<std::uintptr_t, std::uintptr_t>& uploads,
             const std::pair<std::uintptr_t, std::uintptr_t>& downloads,
             const std::vector<std::pair<std::size_t, std::uintptr_t>>& graphs) {
            new (self) StepLoop(library, layout, device(stream, upload, download, uploads, downloads, graphs), depth);
          },
          nb::arg("library"), nb::arg("layout"), nb::arg("depth"), nb::arg("stream"), nb::arg("upload"),
          nb::arg("download"), nb::arg("uploads"), nb::arg("downloads"), nb::arg("graphs"))
      .def("begin", &StepLoop::begin, nb::arg("row"), nb::arg("seed"), nb::arg("params"), nb::arg("first_index"),
           nb::arg("step_count"), nb::call_guard<nb::gil_scoped_release>())
      .def("end", &StepLoop::end, nb::arg("row"), nb::call_guard<nb::gil_scoped_release>())
      .def("settle", &StepLoop::settle, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "advance",
          [](StepLoop& self, const std::vector<std::size_t>& rows) {
            std::vector<std::uint8_t> records;
            {
              const nb::gil_scoped_release released;
              records = self.advance(rows);
            }
            return nb::bytes(records.data(), records.size());
          },
          nb::arg("rows"), "Wait for one frame of each row; returns one record per row.")
      .def("close", &StepLoop::close, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("record_bytes", &StepLoop::record_bytes)
      .def_prop_ro("run_count", &StepLoop::run_count);
#ifdef ANTIPHON_HAS_TENSORRT
  antiphon::add_tensorrt(module);
#endif
}
