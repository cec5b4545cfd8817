// SPDX-License-Identifier: Apache-2.0
// What has been learned, kept over a restart: which object follows which, and how likely objects
// are to be read again at each age. One SQLite file, written by a thread of its own, one
// transaction a second at most; the event loop only hands over. A file that is damaged or of
// another version is put aside, and learning begins anew; a disk that is full costs what would
// have been written, and nothing else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"

struct sqlite3;

namespace hintier {

class Learned {
public:
    struct Config {
        std::string file; // empty: nothing is kept
        std::uint32_t max_links = 1'000'000;

        Result<void> validate() const {
            if (!file.empty() && !file.starts_with('/')) {
                return failure("file must be an absolute path");
            }
            if (max_links < 1000 || max_links > 4'000'000) {
                return failure("max_links is from 1000 to 4000000");
            }
            return {};
        }
    };

    using Links = std::unordered_map<std::uint64_t, std::uint64_t>; // object → the one before it

    // Reads what there is; fails only where no file can be made.
    static Result<std::unique_ptr<Learned>> open(const Config& config);
    ~Learned(); // writes what it was handed

    const Links& links() const { return links_; }
    const std::vector<double>& hazard() const { return hazard_; } // empty: nothing was kept

    // What is not written within a second is written with what comes then; if it is too much the
    // links of it are lost.
    void link(std::uint64_t object, std::uint64_t before);
    void hazard(std::vector<double> cells);

    std::uint64_t written() const;
    std::uint64_t lost() const;

private:
    struct Batch {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> links;
        std::vector<double> hazard;
        bool empty() const { return links.empty() && hazard.empty(); }
    };
    struct Close {
        void operator()(sqlite3* db) const;
    };
    using Db = std::unique_ptr<sqlite3, Close>;

    explicit Learned(const Config& config) : config_(config) {}

    Result<void> open_db();
    Result<void> read();
    void forget_read();
    Result<void> write(const Batch& batch);
    void run();

    Config config_;
    Db db_;
    Links links_;
    std::vector<double> hazard_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    Batch pending_;
    bool ending_ = false;
    std::uint64_t written_ = 0; // links
    std::uint64_t lost_ = 0;
    std::thread writer_; // last: it uses all of the above
};

} // namespace hintier
