#include "cuda_library.h"

#include <dlfcn.h>

namespace antiphon {
namespace {

constexpr unsigned kBlockingSync = 1;
constexpr unsigned kDisableTiming = 2;
constexpr int kThreadLocal = 1;

void check(int result, const char* function) {
  if (result != 0) {
    throw CudaFailure(std::string(function) + " failed: CUresult " + std::to_string(result) + ".");
  }
}

}  // namespace

CudaLibrary::CudaLibrary(const std::string& name) : library_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    throw CudaFailure("The CUDA driver's library cannot be opened (" + std::string(dlerror()) +
                      "). Install an NVIDIA driver.");
  }
  ctx_get_current_ = find<decltype(ctx_get_current_)>("cuCtxGetCurrent");
  ctx_set_current_ = find<decltype(ctx_set_current_)>("cuCtxSetCurrent");
  event_create_ = find<decltype(event_create_)>("cuEventCreate");
  event_destroy_ = find<decltype(event_destroy_)>("cuEventDestroy_v2");
  event_record_ = find<decltype(event_record_)>("cuEventRecord");
  event_synchronize_ = find<decltype(event_synchronize_)>("cuEventSynchronize");
  memcpy_htod_async_ = find<decltype(memcpy_htod_async_)>("cuMemcpyHtoDAsync_v2");
  memcpy_dtoh_async_ = find<decltype(memcpy_dtoh_async_)>("cuMemcpyDtoHAsync_v2");
  memcpy_dtod_async_ = find<decltype(memcpy_dtod_async_)>("cuMemcpyDtoDAsync_v2");
  graph_launch_ = find<decltype(graph_launch_)>("cuGraphLaunch");
  graph_destroy_ = find<decltype(graph_destroy_)>("cuGraphDestroy");
  graph_instantiate_ = find<decltype(graph_instantiate_)>("cuGraphInstantiateWithFlags");
  stream_begin_capture_ = find<decltype(stream_begin_capture_)>("cuStreamBeginCapture_v2");
  stream_end_capture_ = find<decltype(stream_end_capture_)>("cuStreamEndCapture");
  stream_synchronize_ = find<decltype(stream_synchronize_)>("cuStreamSynchronize");
}

CudaLibrary::~CudaLibrary() { dlclose(library_); }

template <typename Function>
Function CudaLibrary::find(const char* name) const {
  void* const symbol = dlsym(library_, name);
  if (symbol == nullptr) {
    throw CudaFailure(std::string("The CUDA driver has no ") + name + "; update it.");
  }
  return reinterpret_cast<Function>(symbol);
}

Handle CudaLibrary::current_context() const {
  Handle context = nullptr;
  check(ctx_get_current_(&context), "cuCtxGetCurrent");
  return context;
}

void CudaLibrary::set_context(Handle context) const { check(ctx_set_current_(context), "cuCtxSetCurrent"); }

Handle CudaLibrary::create_event() const {
  Handle event = nullptr;
  check(event_create_(&event, kBlockingSync | kDisableTiming), "cuEventCreate");
  return event;
}

void CudaLibrary::destroy_event(Handle event) const noexcept { static_cast<void>(event_destroy_(event)); }

void CudaLibrary::record(Handle event, Handle stream) const { check(event_record_(event, stream), "cuEventRecord"); }

void CudaLibrary::wait(Handle event) const { check(event_synchronize_(event), "cuEventSynchronize"); }

void CudaLibrary::upload(Address target, const void* source, std::size_t byte_count, Handle stream) const {
  check(memcpy_htod_async_(target, source, byte_count, stream), "cuMemcpyHtoDAsync");
}

void CudaLibrary::download(void* target, Address source, std::size_t byte_count, Handle stream) const {
  check(memcpy_dtoh_async_(target, source, byte_count, stream), "cuMemcpyDtoHAsync");
}

void CudaLibrary::copy(Address target, Address source, std::size_t byte_count, Handle stream) const {
  check(memcpy_dtod_async_(target, source, byte_count, stream), "cuMemcpyDtoDAsync");
}

void CudaLibrary::launch(Handle graph, Handle stream) const { check(graph_launch_(graph, stream), "cuGraphLaunch"); }

void CudaLibrary::begin_capture(Handle stream) const {
  check(stream_begin_capture_(stream, kThreadLocal), "cuStreamBeginCapture");
}

Handle CudaLibrary::end_capture(Handle stream) const {
  Handle graph = nullptr;
  check(stream_end_capture_(stream, &graph), "cuStreamEndCapture");
  Handle executable = nullptr;
  const int result = graph_instantiate_(&executable, graph, 0);
  static_cast<void>(graph_destroy_(graph));
  check(result, "cuGraphInstantiate");
  return executable;
}

void CudaLibrary::abandon_capture(Handle stream) const noexcept {
  Handle graph = nullptr;
  if (stream_end_capture_(stream, &graph) == 0 && graph != nullptr) {
    static_cast<void>(graph_destroy_(graph));
  }
}

void CudaLibrary::drain(Handle stream) const noexcept { static_cast<void>(stream_synchronize_(stream)); }

}  // namespace antiphon
