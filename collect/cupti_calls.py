"""Names of calls of the CUDA runtime and driver by the numbers CUPTI traces them under, for profiles without names.

The best known only: what programs call over and over, and all that start work on a device. The numbers never change
once given (https://docs.nvidia.com/cupti, callback ids).
"""

__all__ = ["DRIVER_CALLS", "RUNTIME_CALLS", "call_name"]


def call_name(interface: str, number: int) -> str:
    """The name of the call; one made of its number where the table does not have it."""
    return CALLS[interface].get(number) or f"{interface} call {number}"


def _numbered(text: str) -> dict[int, str]:
    words = text.split()
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


RUNTIME_CALLS = _numbered("""
1 cudaDriverGetVersion  2 cudaRuntimeGetVersion  3 cudaGetDeviceCount  4 cudaGetDeviceProperties  5 cudaChooseDevice
8 cudaConfigureCall  9 cudaSetupArgument  10 cudaGetLastError  11 cudaPeekAtLastError  13 cudaLaunch
15 cudaFuncGetAttributes  16 cudaSetDevice  17 cudaGetDevice  18 cudaSetValidDevices  19 cudaSetDeviceFlags
20 cudaMalloc  21 cudaMallocPitch  22 cudaFree  25 cudaMallocHost  26 cudaFreeHost  27 cudaHostAlloc
28 cudaHostGetDevicePointer  29 cudaHostGetFlags  30 cudaMemGetInfo  31 cudaMemcpy  32 cudaMemcpy2D
39 cudaMemcpyToSymbol  40 cudaMemcpyFromSymbol  41 cudaMemcpyAsync  44 cudaMemcpy2DAsync  47 cudaMemcpyToSymbolAsync
48 cudaMemcpyFromSymbolAsync  49 cudaMemset  50 cudaMemset2D  51 cudaMemsetAsync  52 cudaMemset2DAsync
74 cudaGraphicsUnregisterResource  76 cudaGraphicsMapResources  77 cudaGraphicsUnmapResources  123 cudaThreadExit
124 cudaSetDoubleForDevice  125 cudaSetDoubleForHost  126 cudaThreadSynchronize  129 cudaStreamCreate
130 cudaStreamDestroy  131 cudaStreamSynchronize  132 cudaStreamQuery  133 cudaEventCreate
134 cudaEventCreateWithFlags  135 cudaEventRecord  136 cudaEventDestroy  137 cudaEventSynchronize  138 cudaEventQuery
139 cudaEventElapsedTime  140 cudaMalloc3D  142 cudaMemset3D  143 cudaMemset3DAsync  144 cudaMemcpy3D
145 cudaMemcpy3DAsync  147 cudaStreamWaitEvent  151 cudaPointerGetAttributes  152 cudaHostRegister
153 cudaHostUnregister  154 cudaDeviceCanAccessPeer  155 cudaDeviceEnablePeerAccess  156 cudaDeviceDisablePeerAccess
157 cudaPeerRegister  158 cudaPeerUnregister  159 cudaPeerGetDevicePointer  160 cudaMemcpyPeer
161 cudaMemcpyPeerAsync  164 cudaDeviceReset  165 cudaDeviceSynchronize  170 cudaProfilerInitialize
171 cudaProfilerStart  172 cudaProfilerStop  173 cudaDeviceGetByPCIBusId  174 cudaDeviceGetPCIBusId
197 cudaStreamAddCallback  198 cudaStreamCreateWithFlags  200 cudaDeviceGetAttribute  201 cudaStreamDestroy
202 cudaStreamCreateWithPriority  203 cudaStreamGetPriority  204 cudaStreamGetFlags
205 cudaDeviceGetStreamPriorityRange  206 cudaMallocManaged  207 cudaOccupancyMaxActiveBlocksPerMultiprocessor
208 cudaStreamAttachMemAsync  209 cudaGetErrorName  210 cudaOccupancyMaxActiveBlocksPerMultiprocessor
211 cudaLaunchKernel  212 cudaGetDeviceFlags  213 cudaLaunch_ptsz  214 cudaLaunchKernel_ptsz  215 cudaMemcpy_ptds
225 cudaMemcpyAsync_ptsz  233 cudaMemset_ptds  235 cudaMemsetAsync_ptsz  239 cudaStreamSynchronize_ptsz
242 cudaEventRecord_ptsz  247 cudaStreamWaitEvent_ptsz  251 cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
252 cudaMemPrefetchAsync  254 cudaMemAdvise  255 cudaDeviceGetP2PAttribute  266 cudaMemRangeGetAttribute
267 cudaMemRangeGetAttributes  269 cudaLaunchCooperativeKernel  270 cudaLaunchCooperativeKernel_ptsz
272 cudaLaunchCooperativeKernelMultiDevice  273 cudaFuncSetAttribute  284 cudaLaunchHostFunc
285 cudaLaunchHostFunc_ptsz  286 cudaGraphCreate  301 cudaGraphClone  308 cudaGraphRemoveDependencies
310 cudaGraphInstantiate  311 cudaGraphLaunch  312 cudaGraphLaunch_ptsz  313 cudaGraphExecDestroy
314 cudaGraphDestroy  315 cudaStreamBeginCapture  317 cudaStreamIsCapturing  319 cudaStreamEndCapture
323 cudaGraphGetEdges  324 cudaStreamGetCaptureInfo  327 cudaThreadExchangeStreamCaptureMode
328 cudaDeviceGetNvSciSyncAttributes  329 cudaOccupancyAvailableDynamicSMemPerBlock  330 cudaStreamSetFlags
335 cudaGraphExecUpdate  336 cudaGetFuncBySymbol  337 cudaCtxResetPersistingL2Cache  373 cudaMallocAsync
374 cudaMallocAsync_ptsz  375 cudaFreeAsync  376 cudaFreeAsync_ptsz  391 cudaMallocFromPoolAsync
409 cudaStreamGetCaptureInfo_v2  418 cudaGraphInstantiateWithFlags  430 cudaLaunchKernelExC
431 cudaLaunchKernelExC_ptsz  436 cudaGraphInstantiateWithParams  443 cudaGraphInstantiate
461 cudaStreamGetCaptureInfo  505 __cudaLaunchKernel  506 __cudaLaunchKernel_ptsz
""")

DRIVER_CALLS = _numbered("""
1 cuInit  2 cuDriverGetVersion  3 cuDeviceGet  4 cuDeviceGetCount  5 cuDeviceGetName  6 cuDeviceComputeCapability
7 cuDeviceTotalMem  8 cuDeviceGetProperties  9 cuDeviceGetAttribute  10 cuCtxCreate  11 cuCtxDestroy  12 cuCtxAttach
13 cuCtxDetach  14 cuCtxPushCurrent  15 cuCtxPopCurrent  16 cuCtxGetDevice  17 cuCtxSynchronize  18 cuModuleLoad
19 cuModuleLoadData  20 cuModuleLoadDataEx  21 cuModuleLoadFatBinary  22 cuModuleUnload  23 cuModuleGetFunction
24 cuModuleGetGlobal  25 cu64ModuleGetGlobal  27 cuMemGetInfo  28 cu64MemGetInfo  29 cuMemAlloc  30 cu64MemAlloc
31 cuMemAllocPitch  32 cu64MemAllocPitch  33 cuMemFree  34 cu64MemFree  35 cuMemGetAddressRange
36 cu64MemGetAddressRange  37 cuMemAllocHost  38 cuMemFreeHost  39 cuMemHostAlloc  40 cuMemHostGetDevicePointer
41 cu64MemHostGetDevicePointer  42 cuMemHostGetFlags  43 cuMemcpyHtoD  44 cu64MemcpyHtoD  45 cuMemcpyDtoH
46 cu64MemcpyDtoH  47 cuMemcpyDtoD  48 cu64MemcpyDtoD  49 cuMemcpyDtoA  50 cu64MemcpyDtoA  51 cuMemcpyAtoD
52 cu64MemcpyAtoD  53 cuMemcpyHtoA  54 cuMemcpyAtoH  55 cuMemcpyAtoA  56 cuMemcpy2D  57 cuMemcpy2DUnaligned
58 cuMemcpy3D  59 cu64Memcpy3D  60 cuMemcpyHtoDAsync  61 cu64MemcpyHtoDAsync  62 cuMemcpyDtoHAsync
63 cu64MemcpyDtoHAsync  64 cuMemcpyDtoDAsync  65 cu64MemcpyDtoDAsync  66 cuMemcpyHtoAAsync  67 cuMemcpyAtoHAsync
68 cuMemcpy2DAsync  69 cuMemcpy3DAsync  70 cu64Memcpy3DAsync  71 cuMemsetD8  72 cu64MemsetD8  73 cuMemsetD16
74 cu64MemsetD16  75 cuMemsetD32  76 cu64MemsetD32  83 cuFuncSetBlockShape  84 cuFuncSetSharedSize
85 cuFuncGetAttribute  86 cuFuncSetCacheConfig  115 cuLaunch  116 cuLaunchGrid  117 cuLaunchGridAsync
118 cuEventCreate  119 cuEventRecord  120 cuEventQuery  121 cuEventSynchronize  122 cuEventDestroy
123 cuEventElapsedTime  124 cuStreamCreate  125 cuStreamQuery  126 cuStreamSynchronize  127 cuStreamDestroy
135 cuGetExportTable  197 cu64DeviceTotalMem  215 cu64MemHostAlloc  216 cuMemsetD8Async  217 cu64MemsetD8Async
218 cuMemsetD16Async  219 cu64MemsetD16Async  220 cuMemsetD32Async  221 cu64MemsetD32Async  232 cu64Memcpy2D
233 cu64Memcpy2DUnaligned  234 cu64Memcpy2DAsync  235 cuCtxCreate_v2  241 cuModuleGetGlobal_v2  242 cuMemGetInfo_v2
243 cuMemAlloc_v2  244 cuMemAllocPitch_v2  245 cuMemFree_v2  246 cuMemGetAddressRange_v2
247 cuMemHostGetDevicePointer_v2  248 cuMemcpy_v2  249 cuMemsetD8_v2  250 cuMemsetD16_v2  251 cuMemsetD32_v2
259 cuDeviceTotalMem_v2  271 cuMemHostAlloc_v2  276 cuMemcpyHtoD_v2  277 cuMemcpyHtoDAsync_v2  278 cuMemcpyDtoH_v2
279 cuMemcpyDtoHAsync_v2  280 cuMemcpyDtoD_v2  281 cuMemcpyDtoDAsync_v2  282 cuMemcpyAtoH_v2  283 cuMemcpyAtoHAsync_v2
284 cuMemcpyAtoD_v2  285 cuMemcpyDtoA_v2  286 cuMemcpyAtoA_v2  287 cuMemcpy2D_v2  288 cuMemcpy2DUnaligned_v2
289 cuMemcpy2DAsync_v2  290 cuMemcpy3D_v2  291 cuMemcpy3DAsync_v2  292 cuMemcpyHtoA_v2  293 cuMemcpyHtoAAsync_v2
294 cuMemAllocHost_v2  295 cuStreamWaitEvent  296 cuCtxGetApiVersion  299 cuCtxGetCacheConfig  300 cuCtxSetCacheConfig
301 cuMemHostRegister  302 cuMemHostUnregister  303 cuCtxSetCurrent  304 cuCtxGetCurrent  305 cuMemcpy
306 cuMemcpyAsync  307 cuLaunchKernel  308 cuProfilerStart  309 cuProfilerStop  310 cuPointerGetAttribute
311 cuProfilerInitialize  312 cuDeviceCanAccessPeer  313 cuCtxEnablePeerAccess  314 cuCtxDisablePeerAccess
315 cuMemPeerRegister  316 cuMemPeerUnregister  317 cuMemPeerGetDevicePointer  318 cuMemcpyPeer  319 cuMemcpyPeerAsync
322 cuCtxDestroy_v2  323 cuCtxPushCurrent_v2  324 cuCtxPopCurrent_v2  325 cuEventDestroy_v2  326 cuStreamDestroy_v2
331 cuDeviceGetByPCIBusId  332 cuDeviceGetPCIBusId  336 cuCtxSetSharedMemConfig  337 cuCtxGetSharedMemConfig
338 cuFuncSetSharedMemConfig  339 cuTexObjectCreate  340 cuTexObjectDestroy  341 cuTexObjectGetResourceDesc
346 cuStreamAddCallback  361 cuTexObjectGetResourceViewDesc  367 cuStreamCreateWithPriority  368 cuStreamGetPriority
369 cuStreamGetFlags  370 cuCtxGetStreamPriorityRange  371 cuMemAllocManaged  372 cuGetErrorString  373 cuGetErrorName
374 cuOccupancyMaxActiveBlocksPerMultiprocessor  375 cuCompilePtx  376 cuBinaryFree  377 cuStreamAttachMemAsync
378 cuPointerSetAttribute  379 cuMemHostRegister_v2  384 cuOccupancyMaxPotentialBlockSize
386 cuDevicePrimaryCtxRetain  387 cuDevicePrimaryCtxRelease  388 cuDevicePrimaryCtxSetFlags
389 cuDevicePrimaryCtxReset  391 cuCtxGetFlags  392 cuDevicePrimaryCtxGetState  397 cuMemcpyHtoD_v2_ptds
398 cuMemcpyDtoH_v2_ptds  399 cuMemcpyDtoD_v2_ptds  408 cuMemcpy_ptds  411 cuMemsetD8_v2_ptds  412 cuMemsetD16_v2_ptds
413 cuMemsetD32_v2_ptds  418 cuMemcpyAsync_ptsz  421 cuMemcpyHtoDAsync_v2_ptsz  422 cuMemcpyDtoHAsync_v2_ptsz
423 cuMemcpyDtoDAsync_v2_ptsz  428 cuMemsetD8Async_ptsz  429 cuMemsetD16Async_ptsz  430 cuMemsetD32Async_ptsz
436 cuStreamWaitEvent_ptsz  440 cuStreamSynchronize_ptsz  441 cuEventRecord_ptsz  442 cuLaunchKernel_ptsz
450 cuPointerGetAttributes  451 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
452 cuOccupancyMaxPotentialBlockSizeWithFlags  454 cuDeviceGetP2PAttribute  457 cuMemAdvise  464 cuNVNbufferGetPointer
466 cuNNSetAllocator  467 cuMemPrefetchAsync  469 cuEventCreateFromNVNSync  471 cuMemRangeGetAttribute
472 cuMemRangeGetAttributes  477 cuLaunchCooperativeKernel  478 cuLaunchCooperativeKernel_ptsz
480 cuLaunchCooperativeKernelMultiDevice  481 cuFuncSetAttribute  482 cuDeviceGetUuid  483 cuStreamGetCtx
495 cuStreamBeginCapture  497 cuStreamEndCapture  499 cuStreamIsCapturing  501 cuGraphCreate  513 cuGraphInstantiate
514 cuGraphLaunch  515 cuGraphLaunch_ptsz  516 cuGraphExecDestroy  517 cuGraphDestroy  519 cuGraphRemoveDependencies
523 cuGraphClone  527 cuLaunchHostFunc  528 cuLaunchHostFunc_ptsz  532 cuDeviceGetLuid  535 cuGraphGetEdges
536 cuStreamGetCaptureInfo  539 cuStreamBeginCapture_v2  541 cuThreadExchangeStreamCaptureMode
542 cuDeviceGetNvSciSyncAttributes  543 cuOccupancyAvailableDynamicSMemPerBlock  544 cuDevicePrimaryCtxRelease_v2
545 cuDevicePrimaryCtxReset_v2  546 cuDevicePrimaryCtxSetFlags_v2  547 cuMemAddressReserve  548 cuMemAddressFree
549 cuMemCreate  550 cuMemRelease  551 cuMemMap  552 cuMemUnmap  553 cuMemSetAccess  554 cuMemExportToShareableHandle
555 cuMemImportFromShareableHandle  556 cuMemGetAllocationGranularity  557 cuMemGetAllocationPropertiesFromHandle
558 cuMemGetAccess  559 cuStreamSetFlags  578 cuGraphInstantiate_v2  598 cuMemAllocAsync  599 cuMemAllocAsync_ptsz
600 cuMemFreeAsync  601 cuMemFreeAsync_ptsz  611 cuMemAllocFromPoolAsync  626 cuGetProcAddress
643 cuGraphInstantiateWithFlags  652 cuLaunchKernelEx  653 cuLaunchKernelEx_ptsz  656 cuGraphInstantiateWithParams
673 cuModuleGetLoadingMode  677 cuGetProcAddress_v2  678 cuLibraryLoadData  679 cuLibraryLoadFromFile
681 cuLibraryGetKernel  682 cuLibraryGetModule  683 cuKernelGetFunction  684 cuLibraryGetGlobal
685 cuLibraryGetManaged  686 cuKernelGetAttribute  700 cuLibraryGetUnifiedFunction  719 cuKernelGetName
734 cuKernelGetParamInfo  738 cuModuleEnumerateFunctions  739 cuLibraryGetKernelCount  754 cuKernelGetLibrary
""")

CALLS = {"runtime": RUNTIME_CALLS, "driver": DRIVER_CALLS}
