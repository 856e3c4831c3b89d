// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls of the driver that GStreamer's CUDA library looks for when it is loaded, and that no
// test makes. Their arguments do not matter: they are in a source of their own, without the
// driver's header, which declares them.
extern "C" {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

#define NOT_SUPPORTED(name) \
  int name(void) {          \
    return kNotSupported;   \
  }

NOT_SUPPORTED(cuGraphicsMapResources)
NOT_SUPPORTED(cuGraphicsUnmapResources)
NOT_SUPPORTED(cuGraphicsUnregisterResource)
NOT_SUPPORTED(cuModuleLoadData)
NOT_SUPPORTED(cuModuleUnload)
NOT_SUPPORTED(cuModuleGetFunction)
NOT_SUPPORTED(cuTexObjectCreate)
NOT_SUPPORTED(cuTexObjectDestroy)
NOT_SUPPORTED(cuLaunchKernel)
NOT_SUPPORTED(cuGraphicsGLRegisterImage)
NOT_SUPPORTED(cuGraphicsGLRegisterBuffer)
NOT_SUPPORTED(cuGLGetDevices_v2)
NOT_SUPPORTED(cuGraphicsResourceSetMapFlags_v2)
NOT_SUPPORTED(cuGraphicsSubResourceGetMappedArray)
NOT_SUPPORTED(cuGraphicsResourceGetMappedPointer_v2)
}
