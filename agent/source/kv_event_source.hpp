// SPDX-License-Identifier: Apache-2.0
// KV events of one publisher over ZeroMQ: a SUB socket, and a replay of what it has missed.
//
// The publisher may come later, go and come back: the library connects again by itself, and the
// sequence numbers tell what was lost meanwhile. An endpoint's data-parallel ranks are publishers
// of their own, on ports that follow each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"
#include "agent/source/source.hpp"

namespace hintier {

struct KvEventConfig {
    std::string endpoint; // "tcp://localhost:5557"
    std::string replay;   // empty: what is lost is lost
    std::string topic;    // beginning of the topics wanted
    std::uint32_t ranks = 1;

    Result<void> validate() const;
};

// "tcp://host:5557" of rank 2 → "tcp://host:5559"; "inproc://x" → "inproc://x_dp2".
Result<std::string> endpoint_of(const std::string& endpoint, std::uint32_t rank);

class KvEventSource final : public Source {
public:
    struct Counts {
        std::uint64_t batches = 0;
        std::uint64_t stored = 0; // blocks
        std::uint64_t removed = 0;
        std::uint64_t cleared = 0; // times
        std::uint64_t gaps = 0;
        std::uint64_t replayed = 0; // batches
        std::uint64_t lost = 0;
        std::uint64_t wrong = 0;    // messages that make no sense
        std::uint64_t restarts = 0; // of the publisher
    };

    static Result<std::unique_ptr<KvEventSource>> open(const KvEventConfig& config,
                                                       std::uint32_t rank, const Clock& clock);
    ~KvEventSource() override;

    // Readable when something may have come; told once (edge-triggered): drain until it is empty.
    int fd() const override;
    int replay_fd() const; // -1: no replay
    std::size_t drain(EventSink& sink) override;
    const Counts& counts() const;
    const std::string& endpoint() const;

private:
    KvEventSource();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace hintier
