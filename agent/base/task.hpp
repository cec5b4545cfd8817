// SPDX-License-Identifier: Apache-2.0
// Asio in the words of this house: a Task is a coroutine on the one loop; errors are values.
//
// gcc 12 miscompiles some temporaries inside co_await, so there is no `{` and no `[capture]` in
// such an expression, and coroutines take their parameters by value.
#pragma once

#include <chrono>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hintier {

namespace net = boost::asio;

template <class T = void>
using Task = net::awaitable<T>;

// Awaits to a tuple (error code, values …).
inline constexpr auto as_result = net::as_tuple(net::use_awaitable);

} // namespace hintier
