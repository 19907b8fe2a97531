// The few functions of the CUDA driver that the step loop and the sessions call, opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace antiphon {

using Handle = void*;           // CUstream, CUevent, CUgraph, CUgraphExec, CUcontext
using Address = std::uint64_t;  // CUdeviceptr

class CudaFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CudaLibrary {
 public:
  // Opens `name`, "libcuda.so.1" as a rule; throws CudaFailure if it or one of the functions is missing.
  explicit CudaLibrary(const std::string& name);
  ~CudaLibrary();
  CudaLibrary(const CudaLibrary&) = delete;
  CudaLibrary& operator=(const CudaLibrary&) = delete;

  // Each throws CudaFailure with the function's name and CUDA's number.
  Handle current_context() const;
  void set_context(Handle context) const;
  Handle create_event() const;
  void destroy_event(Handle event) const noexcept;
  void record(Handle event, Handle stream) const;
  void wait(Handle event) const;
  void upload(Address target, const void* source, std::size_t byte_count, Handle stream) const;
  void download(void* target, Address source, std::size_t byte_count, Handle stream) const;
  void copy(Address target, Address source, std::size_t byte_count, Handle stream) const;
  void launch(Handle graph, Handle stream) const;
  // From here on, what this thread puts on the stream is recorded; other threads may go on allocating.
  void begin_capture(Handle stream) const;
  // Returns the recorded work as an executable graph.
  Handle end_capture(Handle stream) const;
  // Ends a capture whose work has failed; the stream can be used again.
  void abandon_capture(Handle stream) const noexcept;
  // Waits until the stream is empty, or broken.
  void drain(Handle stream) const noexcept;

 private:
  template <typename Function>
  Function find(const char* name) const;

  void* library_;
  int (*ctx_get_current_)(Handle*);
  int (*ctx_set_current_)(Handle);
  int (*event_create_)(Handle*, unsigned);
  int (*event_destroy_)(Handle);
  int (*event_record_)(Handle, Handle);
  int (*event_synchronize_)(Handle);
  int (*memcpy_htod_async_)(Address, const void*, std::size_t, Handle);
  int (*memcpy_dtoh_async_)(void*, Address, std::size_t, Handle);
  int (*memcpy_dtod_async_)(Address, Address, std::size_t, Handle);
  int (*graph_launch_)(Handle, Handle);
  int (*graph_destroy_)(Handle);
  int (*graph_instantiate_)(Handle*, Handle, unsigned long long);
  int (*stream_begin_capture_)(Handle, int);
  int (*stream_end_capture_)(Handle, Handle*);
  int (*stream_synchronize_)(Handle);
};

}  // namespace antiphon
