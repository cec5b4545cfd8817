// SPDX-License-Identifier: Apache-2.0
// Where events come from: a descriptor that becomes readable, and a call that takes what is there.
#pragma once

#include <cstddef>

#include "agent/model/event.hpp"

namespace hintier {

class Source {
public:
    virtual ~Source() = default;
    virtual int fd() const = 0;
    virtual std::size_t drain(EventSink& sink) = 0; // never blocks; how many events there were
};

} // namespace hintier
