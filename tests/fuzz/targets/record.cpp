// SPDX-License-Identifier: Apache-2.0
// Records of the BPF programs: their lengths are not believed.
#include "agent/source/bpf_source.hpp"
#include "tests/fuzz/target.hpp"

namespace {

std::vector<hintier::fuzz::Bytes> seeds() {
    std::vector<hintier::fuzz::Bytes> all;
    for (std::uint16_t type = 0; type < 7; type++) {
        hintier_record record{};
        record.type = type;
        record.name_bytes = 12;
        std::memcpy(record.name, "dir/0123.bin", 12);
        hintier::fuzz::Output out;
        out.put(record);
        all.push_back(out.bytes);
    }
    return all;
}

} // namespace

FUZZ_TARGET(record, seeds) {
    const auto record = hintier::fuzz::Input(input).take<hintier_record>();
    hintier::Event event;
    if (!hintier::decode(record, event)) return;
    const char* begin = record.name;
    const char* end = record.name + sizeof record.name;
    hintier::fuzz::require(event.name.empty() || (event.name.data() >= begin &&
                                                  event.name.data() + event.name.size() <= end),
                           "a name lies in its record");
    hintier::fuzz::require(event.name.find('/') == event.name.npos, "a name is one component");
}
