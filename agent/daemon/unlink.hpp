// SPDX-License-Identifier: Apache-2.0
// The one place that removes a user's file.
#pragma once

#include <string>

#include "agent/base/result.hpp"
#include "agent/model/world.hpp"

namespace hintier {

// Unlinks `name` in the directory `place.directory`, found by its inode, provided that this
// directory is `root` or lies below it and that the name still means `place.file`: inode and
// generation. ESTALE: it does not, or is gone; EXDEV: not below the root.
Result<void> unlink_below(int root, const Place& place, const std::string& name);

} // namespace hintier
