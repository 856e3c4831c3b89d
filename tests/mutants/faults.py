# SPDX-License-Identifier: LGPL-2.1-or-later
"""All faults (fault.py), by the room that they are in. Any machine can run those of the first three."""

from faults_core import CORE
from faults_cpu import CPU
from faults_cuda import CUDA
from faults_plugin import PLUGIN

FAULTS = CORE + CPU + PLUGIN + CUDA
