{
  "targets": [
    {
      "target_name": "p2p",
      "sources": [
        "native/addon.cc",
        "native/addon_data.cc",
        "native/arguments.cc",
        "native/batch_copy.cc",
        "native/buffer_object.cc",
        "native/build_steps.cc",
        "native/chain.cc",
        "native/clock.cc",
        "native/context.cc",
        "native/cupti_library.cc",
        "native/devices.cc",
        "native/driver_library.cc",
        "native/errors.cc",
        "native/executor.cc",
        "native/executor_calls.cc",
        "native/executor_object.cc",
        "native/graph_submission.cc",
        "native/handshakes.cc",
        "native/host_pattern.cc",
        "native/host_thread.cc",
        "native/ipc_memory.cc",
        "native/js_errors.cc",
        "native/memory_block.cc",
        "native/nvml_facts.cc",
        "native/nvml_fields.cc",
        "native/nvml_gpu.cc",
        "native/nvml_library.cc",
        "native/nvml_links.cc",
        "native/nvml_object.cc",
        "native/nvml_pair.cc",
        "native/nvml_reading.cc",
        "native/nvml_state.cc",
        "native/objects.cc",
        "native/operation_text.cc",
        "native/peers.cc",
        "native/pool_memory.cc",
        "native/probe.cc",
        "native/probe_clock.cc",
        "native/probe_load.cc",
        "native/probe_object.cc",
        "native/probe_pair.cc",
        "native/probe_resources.cc",
        "native/probe_rows.cc",
        "native/probe_single.cc",
        "native/program.cc",
        "native/program_checks.cc",
        "native/program_object.cc",
        "native/resources.cc",
        "native/results_object.cc",
        "native/setup_costs.cc",
        "native/setup_graphs.cc",
        "native/setup_memory.cc",
        "native/setup_object.cc",
        "native/setup_objects.cc",
        "native/setup_peers.cc",
        "native/setup_vmm.cc",
        "native/shared_library.cc",
        "native/steps.cc",
        "native/throughput.cc",
        "native/tracer.cc",
        "native/transfer_launch.cc",
        "native/verify.cc",
        "native/vmm_memory.cc"
      ],
      "include_dirs": [
        "<!(node -p \"require('node-addon-api').include_dir\")",
        "<(SHARED_INTERMEDIATE_DIR)"
      ],
      "defines": [
        "NAPI_VERSION=8",
        "NAPI_CPP_EXCEPTIONS",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"
      ],
      "cflags!": ["-O3"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": ["-std=c++20", "-O2", "-Wall", "-Wextra", "-fexceptions", "-frtti", "-fvisibility=hidden"],
      "libraries": ["-ldl"],
      "conditions": [
        ["OS=='mac'", {
          "libraries!": ["-ldl"],
          "xcode_settings": {
            "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
            "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
            "GCC_ENABLE_CPP_RTTI": "YES",
            "MACOSX_DEPLOYMENT_TARGET": "13.3"
          }
        }]
      ],
      "actions": [
        {
          "action_name": "embed_ptx",
          "message": "Embedding native/kernels.ptx",
          "inputs": ["native/embed-ptx.mjs", "native/kernels.ptx"],
          "outputs": ["<(SHARED_INTERMEDIATE_DIR)/kernels_ptx.h"],
          "action": ["node", "native/embed-ptx.mjs", "native/kernels.ptx", "<(SHARED_INTERMEDIATE_DIR)/kernels_ptx.h"]
        }
      ]
    }
  ]
}
