// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "qemu/flash/store.h"

namespace {

constexpr uint64_t BLOCK = HT_STORE_BLOCK;
int pages_out; // taken from malloc and not given back

void put(void* page) {
    pages_out--;
    std::free(page);
}

class Store : public testing::Test {
protected:
    explicit Store(bool tags = true) {
        pages_out = 0;
        leaves_.resize(ht_store_leaves(SIZE));
        store_.tags = tags;
        store_.leaf = leaves_.data();
        store_.leaves = leaves_.size();
        store_.put = put;
    }
    ~Store() override {
        ht_store_erase(&store_, 0, SIZE);
        while (void* page = ht_store_unstock(&store_))
            put(page);
        EXPECT_EQ(pages_out, 0);
    }
    void write(uint64_t offset, const std::string& data) {
        stock(data.size());
        ht_store_write(&store_, offset, data.data(), static_cast<uint32_t>(data.size()));
    }
    void erase(uint64_t offset, uint64_t length) {
        stock(0);
        ht_store_erase(&store_, offset, length);
    }
    std::string read(uint64_t offset, size_t length, char stale = 'x') const {
        std::string data(length, stale);
        ht_store_read(&store_, offset, data.data(), static_cast<uint32_t>(length));
        return data;
    }
    void stock(uint64_t bytes) {
        while (store_.stocked < ht_store_need(bytes)) {
            ht_store_stock(&store_, std::aligned_alloc(BLOCK, BLOCK));
            pages_out++;
        }
    }
    static std::string tagged(uint64_t tag, char rest) {
        std::string block(BLOCK, rest);
        std::memcpy(block.data(), HT_STORE_MARKER, 8);
        std::memcpy(block.data() + 8, &tag, 8);
        return block;
    }
    static constexpr uint64_t SIZE = 3 * HT_STORE_LEAF * BLOCK;
    ht_store store_{};

private:
    std::vector<ht_store_leaf*> leaves_;
};

class PlainStore : public Store {
protected:
    PlainStore() : Store(false) {}
};

TEST_F(Store, LeafIsOnePage) {
    EXPECT_EQ(sizeof(ht_store_leaf), BLOCK);
}

TEST_F(Store, UnwrittenReadsAsZeros) {
    EXPECT_EQ(read(5 * BLOCK + 512, 2 * BLOCK), std::string(2 * BLOCK, '\0'));
}

TEST_F(Store, TaggedBlockKeepsItsTagOnly) {
    write(7 * BLOCK, tagged(42, 'd'));
    EXPECT_EQ(store_.tagged, 1u);
    EXPECT_EQ(store_.paged, 0u);
    EXPECT_EQ(read(7 * BLOCK, BLOCK, 'x'), tagged(42, 'x')); // the rest is the reader's own
}

TEST_F(Store, StaleMarkersInTheReadersMemoryAreOverwritten) {
    std::string data = tagged(99, 'y') + tagged(98, 'y');
    write(7 * BLOCK, tagged(42, 'd'));
    ht_store_read(&store_, 7 * BLOCK, data.data(), 2 * BLOCK);
    EXPECT_EQ(data.substr(0, 16), tagged(42, 0).substr(0, 16));
    EXPECT_EQ(data.substr(BLOCK), std::string(BLOCK, '\0')); // block 8 was never written
}

TEST_F(Store, PartialOverwriteExpandsTheBlock) {
    write(BLOCK, tagged(42, 'd'));
    write(BLOCK + 1024, std::string(512, 'p'));
    std::string expected = tagged(42, '\0');
    expected.replace(1024, 512, std::string(512, 'p'));
    EXPECT_EQ(read(BLOCK, BLOCK), expected);
    EXPECT_EQ(store_.tagged, 0u);
    EXPECT_EQ(store_.paged, 1u);
    write(BLOCK, tagged(43, 'd')); // and a whole one makes it small again
    EXPECT_EQ(store_.paged, 0u);
}

TEST_F(Store, PartialReadOfATaggedBlock) {
    write(0, tagged(42, 'd'));
    EXPECT_EQ(read(0, 512), tagged(42, '\0').substr(0, 512));
    EXPECT_EQ(read(512, 512), std::string(512, '\0'));
}

TEST_F(Store, EraseForgetsAndGivesPagesBack) {
    write(0, tagged(1, 'd') + std::string(BLOCK, 'f') + tagged(2, 'd'));
    const int before = pages_out;
    erase(0, 3 * BLOCK);
    EXPECT_LT(pages_out, before);
    EXPECT_EQ(store_.tagged + store_.paged, 0u);
    EXPECT_EQ(read(0, 3 * BLOCK), std::string(3 * BLOCK, '\0'));
}

TEST_F(Store, EraseZeroesPartsOfBlocks) {
    write(0, std::string(3 * BLOCK, 'f'));
    erase(512, 2 * BLOCK);
    std::string expected(3 * BLOCK, 'f');
    expected.replace(512, 2 * BLOCK, std::string(2 * BLOCK, '\0'));
    EXPECT_EQ(read(0, 3 * BLOCK), expected);
    erase(2 * BLOCK + 1024, 512); // within one block
    expected.replace(2 * BLOCK + 1024, 512, std::string(512, '\0'));
    EXPECT_EQ(read(0, 3 * BLOCK), expected);
}

TEST_F(PlainStore, KeepsWhatLooksLikeATag) {
    write(0, tagged(42, 'd'));
    EXPECT_EQ(read(0, BLOCK), tagged(42, 'd'));
    EXPECT_EQ(store_.tagged, 0u);
}

// Everything at once, over leaf borders, against the plainest thing that could be right.
TEST_F(PlainStore, AgreesWithAnArray) {
    std::mt19937_64 rng(1);
    std::string array(SIZE, '\0');
    for (int i = 0; i < 3000; i++) {
        const uint64_t offset = rng() % (SIZE / 512) * 512;
        const uint64_t length = std::min<uint64_t>((1 + rng() % 64) * 512, SIZE - offset);
        const char fill = static_cast<char>('a' + rng() % 26);
        switch (rng() % 3) {
        case 0:
            write(offset, std::string(length, fill));
            array.replace(offset, length, std::string(length, fill));
            break;
        case 1:
            erase(offset, length);
            array.replace(offset, length, std::string(length, '\0'));
            break;
        default:
            ASSERT_EQ(read(offset, length), array.substr(offset, length)) << i;
        }
    }
}

} // namespace
