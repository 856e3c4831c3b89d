// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <thread>

#include "tests/storm/worker.h"

extern char** environ;

namespace storm {
namespace {

using Clock = std::chrono::steady_clock;

/// To load GStreamer and open a device, on a busy machine.
constexpr Child::Seconds kStartLimit{180};
/// For the kernel to take a killed process away.
constexpr Child::Seconds kDeathLimit{5};
/// How often a worker that says nothing is looked at.
constexpr Child::Seconds kLook{0.5};
/// A worker that used less than this part of a processor waits for something. One that used more
/// may be slowed by other programs, and gets so many times its limit.
constexpr double kIdle = 0.05;
constexpr double kSlowed = 5;

/// The processor time of all threads of `process`; 0 if it has ended.
Child::Seconds processor_time(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return Child::Seconds(static_cast<double>(time.tv_sec) +
                        1e-9 * static_cast<double>(time.tv_nsec));
}

/// True if a worker that said nothing for `waited`, and used `used` of it, will not answer or takes
/// longer than `limit` by its own fault.
bool overdue(Child::Seconds waited, Child::Seconds used, Child::Seconds limit) {
  if (waited < limit) return false;
  return used >= limit || used < kIdle * waited || waited >= kSlowed * limit;
}

bool send(int descriptor, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = write(descriptor, text.data() + sent, text.size() - sent);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void close_end(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

}  // namespace

Outcome Child::play(const Case& c, Seconds limit) {
  Outcome outcome;
  if (process_ < 0 && !start(&outcome.fault)) return outcome;
  std::string line;
  // If the worker has died, reading says so.
  (void)send(to_worker_, to_line(c) + "\n");
  if (!read_line(limit, &line, &outcome.fault)) {
    kill();
  } else if (!parse_answer(line, &outcome)) {
    outcome.fault = "the worker said '" + line + "'";
    kill();
  }
  return outcome;
}

bool Child::start(std::string* fault) {
  signal(SIGPIPE, SIG_IGN);
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    *fault = "no pipe";
    usable_ = false;
    return false;
  }
  // Above the descriptors that the child's ends get, so that none is lost on the way.
  const int child_in = fcntl(in[0], F_DUPFD_CLOEXEC, 10);
  const int child_out = fcntl(out[1], F_DUPFD_CLOEXEC, 10);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_out, kAnswerDescriptor);
  std::string arguments[] = {"storm", "--worker", "--backend=" + backend_};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  const int error = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  for (const int end : {in[0], out[1], child_in, child_out})
    close(end);
  to_worker_ = in[1];
  from_worker_ = out[0];
  unread_.clear();
  std::string line;
  if (error == 0 && read_line(kStartLimit, &line, fault) && line == kReady) return true;
  if (error != 0) *fault = std::string("no worker: ") + std::strerror(error);
  *fault = "at its start: " + *fault;
  kill();
  usable_ = false;
  return false;
}

bool Child::read_line(Seconds limit, std::string* line, std::string* fault) {
  const Clock::time_point begin = Clock::now();
  const Seconds used_before = processor_time(process_);
  for (;;) {
    const std::size_t length = unread_.find('\n');
    if (length != std::string::npos) {
      *line = unread_.substr(0, length);
      unread_.erase(0, length + 1);
      return true;
    }
    pollfd descriptor = {from_worker_, POLLIN, 0};
    if (poll(&descriptor, 1, static_cast<int>(1000 * kLook.count())) == 0) {
      const Seconds waited = Clock::now() - begin;
      const Seconds used = processor_time(process_) - used_before;
      if (!overdue(waited, used, limit)) continue;
      std::ostringstream text;
      text << std::fixed << std::setprecision(1) << "no frame: the worker said nothing for "
           << waited.count() << " s and used " << used.count() << " s of processor time";
      *fault = text.str();
      return false;
    }
    char buffer[4096];
    const ssize_t count = read(from_worker_, buffer, sizeof buffer);
    if (count <= 0) {
      const std::string how = wait(kDeathLimit);
      *fault = "crash: " + (how.empty() ? "the worker ended" : how);
      return false;
    }
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string Child::wait(Seconds limit) {
  if (process_ < 0) return {};
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  int status = 0;
  while (waitpid(process_, &status, WNOHANG) == 0) {
    if (Clock::now() > end) return "the worker does not end";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process_ = -1;
  if (WIFSIGNALED(status))
    return std::string("the worker was ended by ") + strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0)
    return "the worker ended with status " + std::to_string(WEXITSTATUS(status));
  return {};
}

void Child::kill() {
  close_end(&to_worker_);
  close_end(&from_worker_);
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  // One that is stuck in the driver stays behind.
  (void)wait(kDeathLimit);
  process_ = -1;
}

std::string Child::finish(Seconds limit) {
  if (process_ < 0) return {};
  close_end(&to_worker_);
  const std::string how = wait(limit);
  kill();
  return how;
}

}  // namespace storm
