// SPDX-License-Identifier: Apache-2.0
//
// A modelled drive on a clock of its own, for tests: what the module does with timers, done with
// a queue of events. Closed loops (a fixed number of commands outstanding) and single commands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "qemu/flash/model.h"

namespace hintier::flash {

class Drive {
public:
    explicit Drive(const std::string& preset, const std::string& text = "") {
        params_ = *ht_flash_preset(preset.c_str());
        const char* bad = nullptr;
        if (ht_flash_parse(&params_, text.c_str(), &bad) != 0) throw std::invalid_argument(bad);
        if (const char* why = ht_flash_check(&params_)) throw std::invalid_argument(why);
        dies_.resize(params_.dies);
        ht_flash_init(&flash_, &params_, dies_.data());
    }
    Drive(const Drive&) = delete;
    Drive& operator=(const Drive&) = delete;

    enum class Op { read, write, fua, flush };

    ht_flash_wait submit(Op op, uint64_t offset, uint64_t length) {
        ht_flash_wait wait{};
        switch (op) {
        case Op::read:
            ht_flash_read(&flash_, now, offset, length, &wait);
            break;
        case Op::write:
        case Op::fua:
            ht_flash_write(&flash_, now, offset, length, op == Op::fua, &wait);
            break;
        case Op::flush:
            ht_flash_flush(&flash_, now, &wait);
            break;
        }
        return wait;
    }

    /// Lets time pass until the command has ended; returns how long it took.
    uint64_t finish(ht_flash_wait wait) {
        const uint64_t start = now;
        while (!ht_flash_done(&flash_, now, &wait)) {
            if (wait.when <= now) throw std::logic_error("asked to wait for the past");
            now = wait.when;
        }
        return now - start;
    }

    uint64_t latency(Op op, uint64_t offset, uint64_t length) {
        return finish(submit(op, offset, length));
    }

    struct Result {
        double per_second; // commands
        double mean_ns;
        uint64_t p99_ns;
    };

    /// Keeps `depth` commands outstanding until `count` have ended; the second half is measured.
    Result loop(Op op, int depth, int count, uint64_t length,
                const std::function<uint64_t()>& next_offset) {
        struct Event {
            ht_flash_wait wait;
            uint64_t start;
        };
        auto after = [](const Event& a, const Event& b) { return a.wait.when > b.wait.when; };
        std::priority_queue<Event, std::vector<Event>, decltype(after)> events(after);
        for (int i = 0; i < depth; i++)
            events.push({submit(op, next_offset(), length), now});
        std::vector<uint64_t> times;
        uint64_t began = now;
        for (int ended = 0; ended < count;) {
            Event event = events.top();
            events.pop();
            now = std::max(now, event.wait.when);
            if (!ht_flash_done(&flash_, now, &event.wait)) {
                events.push(event);
                continue;
            }
            if (++ended == count / 2) began = now;
            if (ended > count / 2) times.push_back(now - event.start);
            events.push({submit(op, next_offset(), length), now});
        }
        return summary(times, now - began);
    }

    std::function<uint64_t()> sequential(uint64_t length) {
        return [this, length, next = uint64_t{0}]() mutable {
            const uint64_t offset = next;
            next = (next + length) % size();
            return offset;
        };
    }
    std::function<uint64_t()> random(uint64_t length) {
        return [this, length, rng = std::mt19937_64(1)]() mutable {
            return rng() % (size() / length) * length;
        };
    }

    uint64_t size() const { return params_.bytes / params_.scale; }
    ht_flash* flash() { return &flash_; }
    const ht_flash_params& params() const { return params_; }

    uint64_t now = 1'000'000;

private:
    static Result summary(std::vector<uint64_t>& times, uint64_t elapsed) {
        std::sort(times.begin(), times.end());
        double sum = 0;
        for (uint64_t t : times)
            sum += static_cast<double>(t);
        const auto n = static_cast<double>(times.size());
        return {n * 1e9 / static_cast<double>(elapsed), sum / n, times[times.size() * 99 / 100]};
    }

    ht_flash_params params_{};
    ht_flash flash_{};
    std::vector<ht_flash_die> dies_;
};

} // namespace hintier::flash
