# SPDX-License-Identifier: LGPL-2.1-or-later
"""All faults (fault.py), by the room that they are in. Only those of the last need a GPU."""

from faults_core import CORE
from faults_cpu import CPU
from faults_cuda import CUDA
from faults_plugin import PLUGIN
from faults_runtime import RUNTIME

FAULTS = CORE + CPU + PLUGIN + RUNTIME + CUDA
