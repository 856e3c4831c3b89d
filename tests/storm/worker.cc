// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/worker.h"

#include <gst/gst.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <utility>

#include "kernels/convolver.h"

namespace storm {
namespace {

bool answer(const std::string& line) {
  const std::string text = line + "\n";
  return write(kAnswerDescriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string to_answer(const Outcome& outcome) {
  std::ostringstream line;
  line << outcome.frames << ' ' << outcome.refused << ' ' << outcome.exact << ' '
       << outcome.neighbours << ' ' << outcome.unchecked << ' ';
  for (const char c : outcome.fault)
    line << (c == '\n' ? ' ' : c);
  return line.str();
}

bool parse_answer(const std::string& line, Outcome* outcome) {
  std::istringstream in(line);
  Outcome read;
  in >> read.frames >> read.refused >> read.exact >> read.neighbours >> read.unchecked;
  if (!in) return false;
  in.get();
  std::getline(in, read.fault);
  *outcome = std::move(read);
  return true;
}

int run_worker(const std::string& backend) {
  gst_init(nullptr, nullptr);
  {
    // One device stays open, so that the driver keeps its context from case to case.
    const auto kept = convolve::open_device(
        backend == "cuda" ? convolve::BackendKind::kCuda : convolve::BackendKind::kCpu, {});
    if (!kept.ok()) {
      std::cerr << "no device for backend " << backend << ": " << kept.status().message() << "\n";
      return 2;
    }
    if (!answer(kReady)) return 2;
    for (std::string line; std::getline(std::cin, line);) {
      Case c;
      Outcome outcome;
      if (parse_line(line, &c, &outcome.fault)) outcome = play(c, backend);
      if (!answer(to_answer(outcome))) return 2;
    }
  }
  gst_deinit();
  return 0;
}

}  // namespace storm
