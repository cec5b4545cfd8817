// SPDX-License-Identifier: Apache-2.0
// What servers have told of their sessions: the blocks of each, head of the chain first, so that
// its end or its return can be told by its name alone. A session is its teller's: others, but for
// root, cannot speak for it.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/base/result.hpp"

namespace hintier {

struct Session {
    std::uint32_t teller = 0; // uid
    std::uint32_t root = 0;
    std::vector<std::uint64_t> objects; // without repetition
};

class Sessions {
public:
    static constexpr std::size_t max_name = 256;
    static constexpr std::size_t max_sessions = 65'536;
    static constexpr std::size_t max_each = 8192;      // sessions of one teller
    static constexpr std::size_t max_objects = 65'536; // of one session
    static constexpr std::size_t max_all_objects = 4'000'000;

    // Makes the session if it is new; the objects come behind those it has. Beyond the limits of
    // all together the sessions that were told of longest ago are forgotten.
    Result<void> tell(const std::string& name, std::uint32_t teller, std::uint32_t root,
                      const std::vector<std::uint64_t>& objects);
    Result<const Session*> find(const std::string& name, std::uint32_t teller) const;
    void forget(const std::string& name);
    // The session told of last that holds the object; empty: none. Looks at all of them.
    std::string of(std::uint64_t object) const;

    std::size_t size() const { return by_name_.size(); }
    std::size_t objects() const { return objects_; }

private:
    struct Entry {
        std::string name;
        Session session;
    };
    using Order = std::list<Entry>; // told of longest ago first

    void erase(Order::iterator entry);

    Order order_;
    std::unordered_map<std::string_view, Order::iterator> by_name_; // names of `order_`
    std::unordered_map<std::uint32_t, std::size_t> by_teller_;
    std::size_t objects_ = 0;
};

} // namespace hintier
