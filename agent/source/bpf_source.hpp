// SPDX-License-Identifier: Apache-2.0
// The BPF programs of bpf/: loads and attaches them, turns their records into events.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/source/source.hpp"
#include "hintier/trace.h"

namespace hintier {

// A record as an event, a new one so far; false when the record is none that this version knows.
bool decode(const hintier_record& record, Event& event);

class BpfSource final : public Source {
public:
    struct Config {
        std::uint32_t ring_bytes = 1 << 20; // power of two, a multiple of the page size
        std::set<std::string> suffixes;     // of the names whose lookups matter
    };

    static Result<std::unique_ptr<BpfSource>> open(const Config& config);
    ~BpfSource() override;

    int fd() const override;
    std::size_t drain(EventSink& sink) override;
    // The descriptor becomes readable when the next urgent record comes. What has come before
    // this call does not count: drain once more after it.
    void arm();
    bool armed() const; // nothing urgent has come since

    // From now on events of files below `dir` carry `root`.
    Result<void> watch(const FileId& dir, std::uint32_t root);
    void unwatch(const FileId& dir);
    std::uint64_t lost() const; // records that found the buffer full

private:
    BpfSource();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct IoCount {
    hintier_io_key key;
    hintier_io_count sum; // over all CPUs
};

struct HeatRegion {
    hintier_heat_key key;
    hintier_heat heat;
};

// Counts of the tracepoint hintier_io. Holds the module while it lives.
class IoCounter {
public:
    static Result<std::unique_ptr<IoCounter>> open();
    ~IoCounter();

    std::vector<IoCount> counts() const;
    std::vector<HeatRegion> hottest(std::size_t most) const;
    std::uint64_t lost() const;

private:
    IoCounter();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace hintier
