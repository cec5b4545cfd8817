// SPDX-License-Identifier: Apache-2.0
#include "agent/source/kv_events.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string>

#include "agent/source/msgpack.hpp"

namespace hintier {

namespace {

using Item = MsgpackReader::Item;
using Kind = MsgpackReader::Kind;

constexpr std::size_t max_payload = 16 << 20;
constexpr std::size_t max_events = 65'536;
constexpr std::size_t max_blocks = 1 << 20; // of one batch

enum class Field : std::uint8_t { skip, hashes, parent, block_size, medium, group };

struct Member {
    std::string_view name;
    Field field;
};

// In the order of the array form.
constexpr Member stored_members[] = {
    {"block_hashes", Field::hashes}, {"parent_block_hash", Field::parent},
    {"token_ids", Field::skip},      {"block_size", Field::block_size},
    {"lora_id", Field::skip},        {"medium", Field::medium},
    {"lora_name", Field::skip},      {"extra_keys", Field::skip},
    {"group_idx", Field::group},
};
constexpr Member removed_members[] = {
    {"block_hashes", Field::hashes}, {"medium", Field::medium}, {"group_idx", Field::group}};

std::span<const Member> members_of(KvEvent::Kind kind) {
    switch (kind) {
    case KvEvent::Kind::stored:
        return stored_members;
    case KvEvent::Kind::removed:
        return removed_members;
    case KvEvent::Kind::cleared:
        break;
    }
    return {};
}

std::optional<KvEvent::Kind> kind_named(std::string_view name) {
    if (name == "BlockStored") return KvEvent::Kind::stored;
    if (name == "BlockRemoved") return KvEvent::Kind::removed;
    if (name == "AllBlocksCleared") return KvEvent::Kind::cleared;
    return {};
}

std::optional<KvName> hash_of(const Item& item) {
    if (item.kind == Kind::number) return KvName::from_number(item.number);
    if (item.kind == Kind::text) return KvName::from_hex(item.text);
    if (item.kind != Kind::bytes || item.text.size() > KvName::max_digits / 2) return {};
    std::string digits;
    for (const char c : item.text) {
        constexpr const char* hex = "0123456789abcdef";
        digits += hex[static_cast<unsigned char>(c) >> 4U];
        digits += hex[static_cast<unsigned char>(c) & 15U];
    }
    return KvName::from_hex(digits);
}

class Decoder {
public:
    explicit Decoder(std::span<const std::byte> payload) : in_(payload) {}

    Result<KvBatch> decode() {
        if (!read_batch() || !in_.done()) {
            return failure("no batch of KV events" + (why_.empty() ? "" : ": " + why_), EBADMSG);
        }
        return std::move(batch_);
    }

private:
    bool wrong(std::string why) {
        why_ = why_.empty() ? std::move(why) : why_;
        return false;
    }

    bool read_batch() {
        Item head;
        if (!in_.next(head)) return false;
        if (head.kind == Kind::map) {
            bool events = false;
            for (std::uint64_t i = 0; i < head.count; ++i) {
                Item key;
                if (!in_.next(key)) return false;
                const bool is_events = key.text == "events";
                events = events || is_events;
                const bool fine = is_events                          ? read_events()
                                  : key.text == "ts"                 ? read_time()
                                  : key.text == "data_parallel_rank" ? read_rank()
                                                                     : in_.skip();
                if (!fine) return false;
            }
            return events || wrong("it has no events");
        }
        if (head.kind != Kind::array || head.count < 2) return wrong("neither array nor map");
        if (!read_time() || !read_events()) return false;
        for (std::uint64_t i = 2; i < head.count; ++i) {
            if (!(i == 2 ? read_rank() : in_.skip())) return false;
        }
        return true;
    }

    bool read_time() {
        Item item;
        if (!in_.next(item)) return false;
        if (item.kind != Kind::real && item.kind != Kind::number) return wrong("odd time");
        batch_.time = item.kind == Kind::real ? item.real : static_cast<double>(item.number);
        return true;
    }

    bool read_rank() {
        Item item;
        if (!in_.next(item)) return false;
        if (item.kind == Kind::nil) return true;
        if (item.kind != Kind::number || item.number > 65'535) return wrong("odd rank");
        batch_.rank = static_cast<std::uint32_t>(item.number);
        return true;
    }

    bool read_events() {
        Item list;
        if (!in_.next(list)) return false;
        if (list.kind != Kind::array || list.count > max_events) return wrong("odd events");
        for (std::uint64_t i = 0; i < list.count; ++i) {
            if (!read_event()) return false;
        }
        return true;
    }

    bool read_event() {
        Item head;
        if (!in_.next(head)) return false;
        if (head.kind == Kind::array) return read_array_event(head.count);
        if (head.kind == Kind::map) return read_map_event(head.count);
        return wrong("an event is neither array nor map");
    }

    bool read_array_event(std::uint64_t count) {
        Item tag;
        if (count == 0 || !in_.next(tag)) return wrong("an event without a kind");
        const auto kind = tag.kind == Kind::text ? kind_named(tag.text) : std::nullopt;
        KvEvent event;
        event.kind = kind.value_or(KvEvent::Kind::cleared);
        const auto members = kind ? members_of(*kind) : std::span<const Member>();
        for (std::uint64_t i = 1; i < count; ++i) {
            const Field field = i - 1 < members.size() ? members[i - 1].field : Field::skip;
            if (!read_field(field, event)) return false;
        }
        keep(kind, std::move(event));
        return true;
    }

    // "type" may stand anywhere; the members of both kinds have the same meanings.
    bool read_map_event(std::uint64_t count) {
        std::optional<KvEvent::Kind> kind;
        bool typed = false;
        KvEvent event;
        for (std::uint64_t i = 0; i < count; ++i) {
            Item key;
            if (!in_.next(key)) return false;
            if (key.kind == Kind::text && key.text == "type") {
                Item tag;
                if (!in_.next(tag)) return false;
                kind = tag.kind == Kind::text ? kind_named(tag.text) : std::nullopt;
                typed = true;
                continue;
            }
            const auto* const member =
                std::find_if(std::begin(stored_members), std::end(stored_members),
                             [&](const Member& one) { return one.name == key.text; });
            const Field field = member == std::end(stored_members) ? Field::skip : member->field;
            if (!read_field(field, event)) return false;
        }
        if (!typed) return wrong("an event without a kind");
        event.kind = kind.value_or(KvEvent::Kind::cleared);
        keep(kind, std::move(event));
        return true;
    }

    void keep(std::optional<KvEvent::Kind> kind, KvEvent event) {
        if (!kind) {
            ++batch_.unknown;
        } else {
            batch_.events.push_back(std::move(event));
        }
    }

    bool read_field(Field field, KvEvent& event) {
        if (field == Field::skip) return in_.skip();
        if (field == Field::hashes) return read_hashes(event);
        Item item;
        if (!in_.next(item)) return false;
        if (item.kind == Kind::nil) return true;
        switch (field) {
        case Field::parent:
            event.parent = hash_of(item);
            return event.parent ? true : wrong("an odd hash");
        case Field::medium:
            if (item.kind != Kind::text) return wrong("an odd medium");
            event.medium = item.text;
            return true;
        default:
            break;
        }
        if (item.kind != Kind::number || item.number > std::numeric_limits<std::uint32_t>::max()) {
            return wrong("an odd number");
        }
        (field == Field::group ? event.group : event.block_tokens) =
            static_cast<std::uint32_t>(item.number);
        return true;
    }

    bool read_hashes(KvEvent& event) {
        Item list;
        if (!in_.next(list)) return false;
        if (list.kind != Kind::array || list.count > max_blocks - blocks_) {
            return wrong("odd hashes");
        }
        blocks_ += list.count;
        event.blocks.clear();
        for (std::uint64_t i = 0; i < list.count; ++i) {
            Item item;
            if (!in_.next(item)) return false;
            const auto hash = hash_of(item);
            if (!hash) return wrong("an odd hash");
            event.blocks.push_back(*hash);
        }
        return true;
    }

    MsgpackReader in_;
    KvBatch batch_;
    std::string why_;
    std::uint64_t blocks_ = 0;
};

} // namespace

Result<KvBatch> decode_kv_batch(std::span<const std::byte> payload) {
    if (payload.size() > max_payload) return failure("KV events of more than 16 MiB", EMSGSIZE);
    return Decoder(payload).decode();
}

KvSequence::Verdict KvSequence::live(std::uint64_t number) {
    if (!expected_) {
        expected_ = number + 1;
        return Verdict::take; // what was before we came is no loss
    }
    if (number == *expected_) {
        ++*expected_;
        return Verdict::take;
    }
    if (number == 0) {
        expected_ = 1;
        missing_from_ = missing_to_ = 0;
        return Verdict::restart;
    }
    if (number < *expected_) return Verdict::duplicate;
    missing_from_ = missing() ? missing_from_ : *expected_;
    missing_to_ = number;
    expected_ = number + 1;
    return Verdict::gap;
}

bool KvSequence::replayed(std::uint64_t number) {
    // A replay goes upward, so what is behind has come or will not.
    if (!missing() || number < missing_from_ || number >= missing_to_) return false;
    lost_ += number - missing_from_;
    missing_from_ = number + 1;
    return true;
}

std::uint64_t KvSequence::replay_ended() {
    const std::uint64_t lost = lost_ + (missing_to_ - missing_from_);
    missing_from_ = missing_to_ = lost_ = 0;
    return lost;
}

} // namespace hintier
