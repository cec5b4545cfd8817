// SPDX-License-Identifier: Apache-2.0
// The kernel module from outside: is it there, load it, and what did it just say in the log.
#pragma once

#include <string>
#include <vector>

#include "agent/base/fd.hpp"
#include "agent/cli/fail.hpp"

namespace hintier::cli {

bool module_loaded();

// Loads the module with modprobe unless it is there already.
Result<void> load_module();

// Runs a program found on PATH, silenced, and waits; its exit status, 127 when it is not there.
int run_program(const std::vector<std::string>& words);

// Remembers where the kernel log ended, to read what a call added. Device-mapper tells the reason
// of a refused table only there. Without access to the log there is simply nothing to read.
class KernelLog {
public:
    KernelLog();
    // Lines added since, that name device-mapper's table or hintier, without their prefixes.
    std::vector<std::string> added() const;
    // The last of them as " (…)", or nothing.
    std::string reason() const;

private:
    Fd fd_;
};

// "6,1234,5678,-;device-mapper: table: 253:0: hintier: bad extent" → "bad extent"; empty when the
// record is not about us.
std::string log_reason(const std::string& record);

} // namespace hintier::cli
