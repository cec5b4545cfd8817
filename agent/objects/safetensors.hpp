// SPDX-License-Identifier: Apache-2.0
// safetensors: a JSON header, then the tensors' bytes. And the index that names a model's shards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/objects/bytes.hpp"
#include "agent/objects/tensor.hpp"

namespace hintier {

// Both take any bytes. The header is at most 100 MB, as in the reference reader, and is held in
// memory while it is read; so is an index of at most 64 MiB.
Result<std::vector<Tensor>> read_safetensors(const ByteSource& file);

// tensor → shard, a file name beside the index.
using ShardMap = std::map<std::string, std::string>;
Result<ShardMap> read_shard_map(const ByteSource& file);

} // namespace hintier
