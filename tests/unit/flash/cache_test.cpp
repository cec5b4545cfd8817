// SPDX-License-Identifier: Apache-2.0
//
// The volatile cache of the flash model: what a flush covers, and what a cut may leave.
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "qemu/flash/cache.h"

namespace {

constexpr uint64_t BLOCK = HT_STORE_BLOCK, SECTOR = 512, BLOCKS = 600;

void put(void* page) {
    std::free(page);
}

class Cache : public testing::Test {
protected:
    explicit Cache(uint32_t capacity = 64) : leaves_(ht_store_leaves(BLOCKS * BLOCK)) {
        store_.leaf = leaves_.data();
        store_.leaves = leaves_.size();
        store_.put = put;
        lines_.resize(capacity);
        cache_.media = &store_;
        cache_.line = lines_.data();
        cache_.capacity = capacity;
        cache_.index = index_.data();
        cache_.random = 1;
    }
    ~Cache() override {
        ht_cache_cut(&cache_, 0);
        EXPECT_EQ(cache_.lines, 0U);
        ht_store_erase(&store_, 0, BLOCKS * BLOCK);
        while (void* page = ht_store_unstock(&store_))
            put(page);
    }
    void stock(uint64_t bytes) {
        while (store_.stocked < ht_cache_need(bytes))
            ht_store_stock(&store_, std::aligned_alloc(BLOCK, BLOCK));
    }
    void submit(uint64_t offset, const std::string& data) {
        stock(data.size());
        ht_cache_write(&cache_, offset, data.data(), static_cast<uint32_t>(data.size()));
    }
    void write(uint64_t offset, const std::string& data, bool durable = false) {
        submit(offset, data);
        ht_cache_written(&cache_, offset, data.size(), durable);
    }
    void flush() {
        ht_cache_flush(&cache_);
        ht_cache_flushed(&cache_);
    }
    std::string read(uint64_t offset, size_t length) const {
        std::string data(length, 'x');
        ht_cache_read(&cache_, offset, data.data(), static_cast<uint32_t>(length));
        return data;
    }
    std::string media(uint64_t offset, size_t length) const {
        std::string data(length, 'x');
        ht_store_read(&store_, offset, data.data(), static_cast<uint32_t>(length));
        return data;
    }
    static std::string bytes(size_t length, char c) { return std::string(length, c); }

    ht_store store_{};
    ht_cache cache_{};

private:
    std::vector<ht_store_leaf*> leaves_;
    std::vector<ht_cache_line> lines_;
    std::vector<uint32_t> index_ = std::vector<uint32_t>(BLOCKS);
};

TEST_F(Cache, IsReadAndNotOnTheMedia) {
    write(3 * SECTOR, bytes(4 * BLOCK, 'a'));
    EXPECT_EQ(read(0, 3 * SECTOR), bytes(3 * SECTOR, '\0'));
    EXPECT_EQ(read(3 * SECTOR + 7, BLOCK), bytes(BLOCK, 'a'));
    EXPECT_EQ(media(0, 8 * BLOCK), bytes(8 * BLOCK, '\0'));
    flush();
    EXPECT_EQ(media(3 * SECTOR, 4 * BLOCK), bytes(4 * BLOCK, 'a'));
    EXPECT_EQ(cache_.lines, 0U);
}

TEST_F(Cache, FlushCoversWhatWasAcknowledgedBeforeItBegan) {
    write(0, bytes(SECTOR, 'a'));
    submit(SECTOR, bytes(SECTOR, 'b')); // in flight when the flush is submitted
    ht_cache_flush(&cache_);
    ht_cache_written(&cache_, SECTOR, SECTOR, false);
    write(BLOCK, bytes(SECTOR, 'c')); // acknowledged before the flush has ended
    EXPECT_EQ(media(0, SECTOR), bytes(SECTOR, '\0'));
    ht_cache_flushed(&cache_);
    EXPECT_EQ(media(0, SECTOR), bytes(SECTOR, 'a'));
    EXPECT_EQ(media(SECTOR, SECTOR), bytes(SECTOR, '\0'));
    EXPECT_EQ(media(BLOCK, SECTOR), bytes(SECTOR, '\0'));
}

TEST_F(Cache, FlushKeepsItsWordForWhatIsOverwrittenMeanwhile) {
    write(0, bytes(SECTOR, 'a'));
    ht_cache_flush(&cache_);
    submit(0, bytes(SECTOR, 'b'));
    ht_cache_flushed(&cache_);
    ht_cache_cut(&cache_, 0);
    EXPECT_TRUE(media(0, SECTOR) == bytes(SECTOR, 'a') || media(0, SECTOR) == bytes(SECTOR, 'b'));
}

TEST_F(Cache, FuaIsDurableAndNothingElse) {
    write(0, bytes(SECTOR, 'a'));
    write(SECTOR, bytes(SECTOR, 'b'), true);
    EXPECT_EQ(media(0, SECTOR), bytes(SECTOR, '\0'));
    EXPECT_EQ(media(SECTOR, SECTOR), bytes(SECTOR, 'b'));
}

TEST_F(Cache, WithoutAVolatileCacheOnlyWhatIsInFlightIsLost) {
    cache_.write_through = true;
    write(0, bytes(BLOCK, 'a'));
    EXPECT_EQ(media(0, BLOCK), bytes(BLOCK, 'a'));
    submit(0, bytes(BLOCK, 'b'));
    EXPECT_EQ(media(0, BLOCK), bytes(BLOCK, 'a'));
    EXPECT_EQ(read(0, BLOCK), bytes(BLOCK, 'b'));
}

TEST_F(Cache, ErasesAreZerosThatCanBeLost) {
    write(0, bytes(4 * BLOCK, 'a'));
    flush();
    stock(2 * BLOCK);
    ht_cache_erase(&cache_, SECTOR, 2 * BLOCK);
    EXPECT_EQ(read(SECTOR, 2 * BLOCK), bytes(2 * BLOCK, '\0'));
    EXPECT_EQ(media(0, 4 * BLOCK), bytes(4 * BLOCK, 'a'));
    ht_cache_written(&cache_, SECTOR, 2 * BLOCK, false);

    // A long one is durable at once, and takes with it what was written there.
    write(BLOCK, bytes(BLOCK, 'b'));
    stock(0);
    ht_cache_erase(&cache_, 2 * SECTOR, HT_CACHE_ERASE + SECTOR);
    ht_cache_cut(&cache_, 4);
    EXPECT_EQ(read(2 * SECTOR, 3 * BLOCK), bytes(3 * BLOCK, '\0'));
}

TEST_F(Cache, CutsKeepAndLoseAndTear) {
    uint64_t all = 0, none = 0, torn = 0, apart = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        write(0, bytes(16 * BLOCK, '0'));
        flush();
        write(0, bytes(16 * BLOCK, '1'));
        ht_cache_cut(&cache_, seed);
        const std::string now = read(0, 16 * BLOCK);
        bool tears = false, differs = false;
        for (size_t at = 0; at < now.size(); at += SECTOR) {
            ASSERT_EQ(now.substr(at, SECTOR), bytes(SECTOR, now[at])); // sectors never tear
            tears |= now[at] != now[at / BLOCK * BLOCK];
            differs |= now[at] != now[0];
        }
        all += now == bytes(16 * BLOCK, '1');
        none += now == bytes(16 * BLOCK, '0');
        torn += tears;
        apart += differs && !tears;
    }
    EXPECT_GT(all, 10U);
    EXPECT_GT(none, 10U);
    EXPECT_GT(torn, 50U);
    EXPECT_GT(apart, 50U);
    EXPECT_EQ(cache_.cuts, 400U);
    EXPECT_EQ(cache_.kept + cache_.lost, 400U * 16 * 8);
}

TEST_F(Cache, ASeedRepeats) {
    std::string got[2];
    for (auto& run : got) {
        write(0, bytes(16 * BLOCK, '0'));
        flush();
        write(0, bytes(16 * BLOCK, '1'));
        ht_cache_cut(&cache_, 11);
        run = read(0, 16 * BLOCK);
    }
    EXPECT_EQ(got[0], got[1]);
}

// Whatever happens in whatever order: after a cut each sector has a version no older than the last
// one a flush or FUA has promised, and no version that it never had.
TEST_F(Cache, RandomHistoriesAgainstAnOracle) {
    struct Sector {
        std::set<char> may{'\0'};
        char now = '\0', promised = '\0';
    };
    struct Write {
        uint64_t sector, count;
        char version;
    };
    constexpr uint64_t SECTORS = 100 * 8;
    std::mt19937_64 rng(7);
    for (int history = 0; history < 300; history++) {
        std::vector<Sector> state(SECTORS);
        std::vector<Write> flying;
        std::vector<char> covered(SECTORS, '\0');
        std::set<uint64_t> busy;
        bool flushing = false;
        std::string zeros(SECTORS * SECTOR, '\0');
        stock(0);
        ht_store_erase(&store_, 0, BLOCKS * BLOCK);
        cache_.write_through = history % 2;

        auto promise = [&](uint64_t sector, char version) {
            auto& s = state[sector];
            if (version < s.promised) return;
            s.promised = version;
            s.may.erase(s.may.begin(), s.may.lower_bound(version));
        };
        for (char version = 1; version < 100; version++) {
            switch (rng() % 6) {
            case 0:
                if (flushing) {
                    ht_cache_flushed(&cache_);
                    for (uint64_t i = 0; i < SECTORS; i++)
                        promise(i, covered[i]);
                } else {
                    ht_cache_flush(&cache_);
                    for (uint64_t i = 0; i < SECTORS; i++)
                        covered[i] = state[i].now;
                }
                flushing = !flushing;
                break;
            case 1:
            case 2:
                if (flying.empty()) break;
                {
                    const Write w = flying[rng() % flying.size()];
                    std::erase_if(flying, [&](const Write& x) { return x.version == w.version; });
                    const bool fua = rng() % 4 == 0;
                    ht_cache_written(&cache_, w.sector * SECTOR, w.count * SECTOR, fua);
                    for (uint64_t i = w.sector; i < w.sector + w.count; i++) {
                        busy.erase(i);
                        state[i].now = w.version;
                        if (fua || cache_.write_through) promise(i, w.version);
                    }
                }
                break;
            default: {
                Write w{rng() % SECTORS, 1 + rng() % 40, version};
                w.count = std::min(w.count, SECTORS - w.sector);
                bool free = true;
                for (uint64_t i = w.sector; i < w.sector + w.count; i++)
                    free &= !busy.contains(i);
                if (!free) break; // nobody writes the same sector twice at once
                submit(w.sector * SECTOR, bytes(w.count * SECTOR, version));
                for (uint64_t i = w.sector; i < w.sector + w.count; i++) {
                    busy.insert(i);
                    state[i].may.insert(version);
                }
                flying.push_back(w);
            }
            }
        }
        ht_cache_cut(&cache_, static_cast<uint64_t>(history));
        const std::string now = read(0, SECTORS * SECTOR);
        for (uint64_t i = 0; i < SECTORS; i++)
            ASSERT_TRUE(state[i].may.contains(now[i * SECTOR])) << history << " sector " << i;
    }
}

} // namespace
