// SPDX-License-Identifier: Apache-2.0
// What has been learned, kept over a restart: which object follows which, how likely objects are
// to be read again at each age, and of each object how popular it is and whose, of each session at
// which turn it is. One SQLite file, written by a thread of its own, one transaction a second at
// most; the event loop only hands over. A file of an older version is brought up to date; one that
// is damaged or of a newer version is put aside, and learning begins anew; a disk that is full
// costs what would have been written, and nothing else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"
#include "agent/model/memory.hpp"

struct sqlite3;

namespace hintier {

class Learned {
public:
    struct Config {
        std::string file; // empty: nothing is kept
        std::uint32_t max_links = 1'000'000;
        std::uint32_t max_objects = 1'000'000;

        Result<void> validate() const {
            if (!file.empty() && !file.starts_with('/')) {
                return failure("file must be an absolute path");
            }
            if (max_links < 1000 || max_links > 4'000'000) {
                return failure("max_links is from 1000 to 4000000");
            }
            if (max_objects < 1000 || max_objects > 2'000'000) {
                return failure("max_objects is from 1000 to 2000000");
            }
            if (max_links + 2ULL * max_objects > 5'000'000) {
                return failure("max_links and twice max_objects are at most 5000000 together");
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
    double watched_s() const { return watched_s_; }
    // Handed out once; `used_s` in seconds of the wall's clock.
    Memories take_memories() { return std::exchange(memories_, {}); }

    // What is not written within a second is written with what comes then; if it is too much the
    // links and objects of it are lost.
    void link(std::uint64_t object, std::uint64_t before);
    void hazard(std::vector<double> cells, double watched_s);
    void remember(Memories memories);

    struct Counts {
        std::uint64_t links = 0;
        std::uint64_t objects = 0;
    };
    Counts written() const;
    Counts lost() const;

private:
    struct Batch {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> links;
        std::vector<double> hazard;
        double watched_s = 0;
        Memories memories;
        bool empty() const { return links.empty() && hazard.empty() && memories.empty(); }
    };
    struct Close {
        void operator()(sqlite3* db) const;
    };
    using Db = std::unique_ptr<sqlite3, Close>;

    explicit Learned(const Config& config) : config_(config) {}

    Result<void> open_db();
    Result<void> update(std::uint64_t from);
    Result<void> read();
    Result<void> read_memories();
    void forget_read();
    Result<void> write(const Batch& batch);
    Result<void> write_links(const Batch& batch);
    Result<void> write_memories(const Memories& memories);
    void run();

    Config config_;
    Db db_;
    Links links_;
    std::vector<double> hazard_;
    double watched_s_ = 0;
    Memories memories_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    Batch pending_;
    bool ending_ = false;
    Counts written_;
    Counts lost_;
    std::thread writer_; // last: it uses all of the above
};

} // namespace hintier
