// SPDX-License-Identifier: Apache-2.0
// Calls into inference libraries (bpf/calls.bpf.c): which file's functions are watched, and what
// processes do with them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent/base/result.hpp"
#include "agent/model/event.hpp"
#include "hintier/trace.h"

namespace hintier {

// What the function of that name does; none: it tells nothing.
Call call_named(std::string_view function);

// A record as an event; false when the record is none that this version knows.
bool decode(const hintier_call& call, Event& event);

class CallSource {
public:
    static Result<std::unique_ptr<CallSource>> open();
    ~CallSource();

    // Watches the functions of a shared library or a binary, in all processes that have it or will
    // have it. Asked again about a path it looks whether another file is there now. How many
    // functions are watched there; ENOENT: there is no such file yet.
    Result<std::size_t> watch(const std::string& path);

    std::size_t drain(EventSink& sink); // never blocks
    std::uint64_t lost() const;

private:
    CallSource();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace hintier
