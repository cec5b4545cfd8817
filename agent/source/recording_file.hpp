// SPDX-License-Identifier: Apache-2.0
// A recording, line by line.
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "agent/base/result.hpp"
#include "agent/source/recording.hpp"

namespace hintier {

class RecordingFile {
public:
    static Result<RecordingFile> open(const std::string& path);

    const std::vector<Root>& roots() const { return roots_; }
    // Errors name the file and the line. The last line of a recording that was cut short may be
    // half a line: it is left out.
    Result<void> each(const std::function<void(const Recorded&)>& take);

private:
    std::string path_;
    std::ifstream in_;
    std::vector<Root> roots_;
};

} // namespace hintier
