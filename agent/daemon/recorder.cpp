// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/recorder.hpp"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "agent/base/log.hpp"
#include "agent/source/recording.hpp"

namespace hintier {

namespace {

constexpr std::size_t at_once = 256 << 10;

} // namespace

void Recorder::start(Fd fd, std::uint64_t most, const std::vector<Root>& roots) {
    fd_ = std::move(fd);
    most_ = most;
    counts_ = {};
    waiting_.clear();
    add(recording_head(roots));
    flush(); // whoever waits for the file sees at once that it works
}

Recorder::Counts Recorder::stop() {
    flush();
    fd_ = Fd();
    return std::exchange(counts_, {});
}

void Recorder::write(const Event& event) {
    if (on()) add(to_line(event));
}

void Recorder::write(const Words& words) {
    if (on()) add(to_line(words));
}

void Recorder::add(const std::string& line) {
    if (counts_.bytes + line.size() > most_) {
        flush();
        counts_.ended = "it is as long as was allowed";
        fd_ = Fd();
        log::warning("recording: {}", counts_.ended);
        return;
    }
    waiting_ += line;
    ++counts_.lines;
    counts_.bytes += line.size();
    if (waiting_.size() >= at_once) flush();
}

void Recorder::flush() {
    std::string_view rest = waiting_;
    while (on() && !rest.empty()) {
        const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            counts_.ended = std::strerror(errno);
            fd_ = Fd();
            log::warning("recording: {}", counts_.ended);
            break;
        }
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    waiting_.clear();
}

} // namespace hintier
