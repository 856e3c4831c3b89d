# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Source this in the packed folder: the packed GStreamer, our module, and nothing of the machine's.
_packed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PATH=$_packed/bin:$PATH:/usr/local/cuda/bin
export LD_LIBRARY_PATH=$_packed/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GST_PLUGIN_SYSTEM_PATH_1_0=$_packed/plugins
export GST_PLUGIN_PATH_1_0=${CUDACONVOLVE_MODULE:-$_packed/module}
export GST_PLUGIN_SCANNER_1_0=$_packed/bin/gst-plugin-scanner
# A registry for each module: the two have one name.
GST_REGISTRY_1_0=${TMPDIR:-/tmp}/cudaconvolve-$(basename "$GST_PLUGIN_PATH_1_0")-registry.bin
export GST_REGISTRY_1_0
