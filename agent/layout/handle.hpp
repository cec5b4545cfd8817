// SPDX-License-Identifier: Apache-2.0
// Opening files and directories by inode and generation, whatever they are called at the moment.
#pragma once

#include "agent/base/fd.hpp"
#include "agent/base/result.hpp"
#include "agent/model/event.hpp"

namespace hintier {

// `root`: any open descriptor on the filesystem. Needs CAP_DAC_READ_SEARCH. ESTALE: gone.
Result<Fd> open_by_id(int root, const FileId& id, int flags);

// The identity of `name` in an open directory, or of the directory itself when `name` is empty.
// `device`: the filesystem's number, which a handle does not tell. EOPNOTSUPP: a filesystem whose
// handles are not made of inode and generation.
Result<FileId> identify(int dir, const char* name, std::uint32_t device);

} // namespace hintier
