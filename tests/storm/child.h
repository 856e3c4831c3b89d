// SPDX-License-Identifier: LGPL-2.1-or-later
// A worker in a process of its own, which may crash or hang without harm to this one: a case that
// takes too long loses its worker, and the next case gets a new one. This process never touches
// the GPU's driver, and never waits for ever for a worker that is stuck in it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "tests/storm/case.h"
#include "tests/storm/play.h"

namespace storm {

class Child {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit Child(std::string backend) : backend_(std::move(backend)) {}
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// What the worker says of `c`. A fault too if it dies, or says nothing for `limit`; for longer
  /// if it works all the time but other programs slow it down.
  Outcome play(const Case& c, Seconds limit);

  /// Ends the worker, so that the next case meets a fresh one.
  void kill();

  /// Lets the worker end by itself. Says what is wrong with how it did, or nothing.
  std::string finish(Seconds limit);

  /// False once a worker could not even be started.
  bool usable() const { return usable_; }

 private:
  bool start(std::string* fault);
  /// The next line, or false with `fault`.
  bool read_line(Seconds limit, std::string* line, std::string* fault);
  /// Waits for the process; "" if it has ended well, else how it ended, or that it did not.
  std::string wait(Seconds limit);

  const std::string backend_;
  pid_t process_ = -1;
  int to_worker_ = -1;
  int from_worker_ = -1;
  std::string unread_;
  bool usable_ = true;
};

}  // namespace storm
