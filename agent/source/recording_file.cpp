// SPDX-License-Identifier: Apache-2.0
#include "agent/source/recording_file.hpp"

#include <cerrno>

#include <fmt/format.h>

namespace hintier {

Result<RecordingFile> RecordingFile::open(const std::string& path) {
    RecordingFile file;
    file.path_ = path;
    errno = 0;
    file.in_.open(path);
    std::string line;
    if (!std::getline(file.in_, line)) {
        return errno ? system_failure(path) : failure(path + ": empty", EINVAL);
    }
    auto roots = parse_recording_head(line);
    if (!roots) return failure(fmt::format("{}:1: {}", path, roots.error().text), EINVAL);
    file.roots_ = std::move(*roots);
    return file;
}

Result<void> RecordingFile::each(const std::function<void(const Recorded&)>& take) {
    std::string line;
    for (std::uint64_t number = 2; std::getline(in_, line); ++number) {
        const auto recorded = parse_recorded(line);
        if (recorded) {
            take(*recorded);
        } else if (in_.peek() != std::ifstream::traits_type::eof()) {
            return failure(fmt::format("{}:{}: {}", path_, number, recorded.error().text), EINVAL);
        }
    }
    return {};
}

} // namespace hintier
