// SPDX-License-Identifier: Apache-2.0
// Pages of chosen files that come into the page cache (bpf/fills.bpf.c).
#pragma once

#include <memory>

#include "agent/base/result.hpp"
#include "agent/model/event.hpp"
#include "hintier/trace.h"

namespace hintier {

class FillSource {
public:
    static Result<std::unique_ptr<FillSource>> open();
    ~FillSource();

    Result<void> watch(const FileId& file);
    void unwatch(const FileId& file);

    std::size_t drain(EventSink& sink); // never blocks
    std::uint64_t lost() const;         // regions that found no room

private:
    FillSource();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace hintier
