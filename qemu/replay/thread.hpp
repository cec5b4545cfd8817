// SPDX-License-Identifier: Apache-2.0
//
// Threads with a stack of fixed size (so that a guest's memory layout repeats), the inbox they
// report to, and FIFO pools of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <vector>

#include "qemu/replay/clock.hpp"

namespace hintier::replay {

class Thread {
public:
    explicit Thread(std::function<void()> body)
        : body_(std::make_unique<std::function<void()>>(std::move(body))) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 256 * 1024);
        const int error = pthread_create(&id_, &attributes, &Thread::enter, body_.get());
        pthread_attr_destroy(&attributes);
        if (error) throw std::system_error(error, std::generic_category(), "cannot start a thread");
    }
    ~Thread() {
        if (body_) pthread_join(id_, nullptr);
    }
    Thread(Thread&&) = default;

private:
    static void* enter(void* body) {
        (*static_cast<std::function<void()>*>(body))();
        return nullptr;
    }
    std::unique_ptr<std::function<void()>> body_;
    pthread_t id_{};
};

// What workers tell the server's thread: messages in order, or the error that ends the run.
template <typename Message>
class Inbox {
public:
    void post(Message message) {
        {
            const std::lock_guard lock(mutex_);
            messages_.push_back(std::move(message));
        }
        arrived_.notify_one();
    }

    void fail(std::exception_ptr error) {
        {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::move(error);
        }
        arrived_.notify_one();
    }

    // Waits until there is something or the time has come; rethrows a worker's error.
    std::vector<Message> take_until(Clock::Point due) {
        std::unique_lock lock(mutex_);
        arrived_.wait_until(lock, due, [&] { return error_ || !messages_.empty(); });
        if (error_) std::rethrow_exception(error_);
        return std::exchange(messages_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<Message> messages_;
    std::exception_ptr error_;
};

// `threads` workers take jobs in FIFO order. Jobs still queued when the pool goes are dropped.
template <typename Job>
class Pool {
public:
    using Work = std::function<void(Job)>;

    // Each worker gets a function of its own (its buffer lives there).
    Pool(unsigned threads, const std::function<Work()>& make_work,
         std::function<void(std::exception_ptr)> on_error)
        : on_error_(std::move(on_error)) {
        for (unsigned i = 0; i < threads; i++)
            threads_.emplace_back([this, work = make_work()] { serve(work); });
    }
    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void submit(Job job) {
        {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(std::move(job));
        }
        wake_.notify_one();
    }

private:
    std::optional<Job> next() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
        if (stop_) return std::nullopt;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        return job;
    }

    void serve(const Work& work) {
        try {
            while (auto job = next())
                work(std::move(*job));
        } catch (...) {
            on_error_(std::current_exception());
        }
    }

    std::function<void(std::exception_ptr)> on_error_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job> jobs_;
    bool stop_ = false;
    std::vector<Thread> threads_; // last: joined first
};

} // namespace hintier::replay
