/* What the RPC clients and servers of labkit share: arguments, payloads, schedules and samples.

   A client is a thread with a connection to each server. Closed loop: it makes its next call when the one before was
   answered. Open loop: calls are due at a rate of their own, and count from then. */
#ifndef LABKIT_RPC_LOAD_H
#define LABKIT_RPC_LOAD_H

#include <sys/prctl.h>
#include <time.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace load
{

/* ECHO brings the payload back, SEND the number of its bytes, DIGEST a digest of them. */
enum Method { ECHO, SEND, DIGEST };
using Buffers = std::vector<std::string>;

inline int64_t now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* FNV-1a, over what has been read before and these bytes. */
inline uint64_t digest(const char *data, size_t length, uint64_t sum = 14695981039346656037ULL)
{
    for (size_t k = 0; k < length; k++) sum = (sum ^ (unsigned char)data[k]) * 1099511628211ULL;
    return sum;
}

inline size_t length_of(const Buffers &buffers)
{
    size_t length = 0;
    for (const auto &one : buffers) length += one.size();
    return length;
}

class Arguments
{
  public:
    Arguments(int argc, char **argv) : words_(argv + 1, argv + argc) {}

    std::string text(const std::string &name, const std::string &otherwise) const
    {
        for (const auto &word : words_)
            if (!word.compare(0, name.size() + 1, name + "=")) return word.substr(name.size() + 1);
        return otherwise;
    }

    double number(const std::string &name, double otherwise) const
    {
        std::string found = text(name, "");
        return found.empty() ? otherwise : std::stod(found);
    }

    std::vector<std::string> list(const std::string &name) const
    {
        std::vector<std::string> parts;
        std::string all = text(name, ""), line(4096, 0);
        if (!all.empty() && all[0] == '@') { /* @FILE holds the list */
            FILE *file = fopen(all.c_str() + 1, "r");
            if (!file || !fgets(&line[0], (int)line.size(), file)) throw std::runtime_error(all + " cannot be read");
            fclose(file);
            all = line.c_str();
        }
        for (size_t at = 0; at < all.size();) {
            size_t end = std::min(all.find(',', at), all.size());
            parts.push_back(all.substr(at, end - at));
            at = end + 1;
        }
        return parts;
    }

  private:
    std::vector<std::string> words_;
};

/* Where a server listens: tcp:HOST:PORT or unix:PATH. */
struct Address {
    bool unix_socket;
    std::string host; /* or path */
    int port;

    explicit Address(const std::string &text)
    {
        size_t colon = text.rfind(':');
        unix_socket = !text.compare(0, 5, "unix:");
        if (!unix_socket && (text.compare(0, 4, "tcp:") || colon < 5))
            throw std::runtime_error("address=" + text + ", but it must be tcp:HOST:PORT or unix:PATH");
        host = unix_socket ? text.substr(5) : text.substr(4, colon - 4);
        port = unix_socket ? 0 : std::stoi(text.substr(colon + 1));
    }
};

/* A client's connection to one server. */
class Connection
{
  public:
    virtual ~Connection() = default;
    /* Make what calls send. */
    virtual void prepare(const Buffers &buffers) = 0;
    /* Begin some calls at once, without waiting for an answer. */
    virtual void begin(Method method, int count) = 0;
    /* Wait for the answers to all of them. Returns the number of bytes that came back, or that the server counted. */
    virtual uint64_t finish() = 0;
    /* The number that the last call was answered with, and the buffers that it brought back, one after the other. */
    virtual uint64_t number() const = 0;
    virtual std::string echoed() const = 0;
};

using Connect = std::function<std::unique_ptr<Connection>(const Address &)>;

struct Sample {
    int64_t due, start, end, client;
};

struct Plan {
    Method method;
    std::vector<std::string> servers;
    std::vector<size_t> sizes;      /* of the payload's buffers, B */
    std::vector<size_t> bulk_sizes; /* of those in the background */
    int clients, bulk_clients, window;
    double rate, seconds;
    bool poisson;
    int64_t limit;
    uint64_t seed;
};

class Run
{
  public:
    Run(const Plan &plan, const Connect &connect) : plan_(plan), connect_(connect) {}

    /* Connect, check every connection's bytes, run, and check once more. Returns whether all went well. */
    bool all()
    {
        int count = plan_.clients + plan_.bulk_clients;
        std::vector<std::thread> threads;
        samples_.resize((size_t)plan_.clients), waiting_.resize((size_t)plan_.clients);
        for (int k = 0; k < count; k++) threads.emplace_back(&Run::client, this, k);
        while (ready_ + failed_ < count) usleep_(200);
        origin_ = now_ns() + 1000000;
        stop_ = origin_ + (int64_t)(plan_.seconds * 1e9);
        started_ = true;
        for (auto &thread : threads) thread.join();
        return !failed_;
    }

    void write(const std::string &path) const
    {
        FILE *out = fopen(path.c_str(), "wb");
        bool fine = out;
        int64_t calls = 0, unfinished = 0;
        for (size_t k = 0; fine && k < samples_.size(); k++) {
            const auto &part = samples_[k];
            fine = fwrite(part.data(), sizeof(Sample), part.size(), out) == part.size();
            calls += (int64_t)part.size(), unfinished += waiting_[k];
        }
        if (!fine || fclose(out)) throw std::runtime_error("the samples cannot be written: " + path);
        printf("{\"operations\": %lld, \"unfinished\": %lld, \"payload_B\": %llu, \"bulk_operations\": %lld, "
               "\"bulk_ns\": %lld}\n",
               (long long)calls, (long long)unfinished, (unsigned long long)payload(), (long long)bulk_calls_,
               (long long)bulk_ns_);
    }

  private:
    using Connections = std::vector<std::unique_ptr<Connection>>;

    static void usleep_(int64_t us)
    {
        timespec t = {us / 1000000, us % 1000000 * 1000};
        nanosleep(&t, nullptr);
    }

    static void wait_until(int64_t time)
    {
        timespec t = {time / 1000000000, time % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr)) continue;
    }

    uint64_t payload() const
    {
        uint64_t length = 0, calls = 0;
        for (size_t one : plan_.sizes) length += one;
        for (const auto &part : samples_) calls += part.size();
        return length * calls * (uint64_t)plan_.window * plan_.servers.size();
    }

    /* Buffers of these sizes whose bytes tell client, server and round. */
    static Buffers pattern(const std::vector<size_t> &sizes, uint64_t salt)
    {
        std::mt19937_64 chance(salt);
        Buffers buffers;
        for (size_t size : sizes) {
            std::string one(size, 0);
            for (size_t k = 0; k < size; k += 8) {
                uint64_t word = chance();
                memcpy(&one[k], &word, std::min<size_t>(8, size - k));
            }
            buffers.push_back(std::move(one));
        }
        return buffers;
    }

    /* Send fresh bytes both ways over a connection, and compare each. */
    static void check(Connection &connection, const std::vector<size_t> &sizes, uint64_t salt)
    {
        Buffers buffers = pattern(sizes, salt);
        std::string sent;
        for (const auto &one : buffers) sent += one;
        connection.prepare(buffers);
        connection.begin(DIGEST, 1), connection.finish();
        if (connection.number() != digest(sent.data(), sent.size()))
            throw std::runtime_error("the server received other bytes than were sent");
        connection.begin(ECHO, 1), connection.finish();
        if (connection.echoed() != sent) throw std::runtime_error("other bytes came back than were sent");
    }

    void client(int number)
    {
        bool bulk = number >= plan_.clients;
        try {
            Connections all;
            const auto &sizes = bulk ? plan_.bulk_sizes : plan_.sizes;
            for (const auto &server : plan_.servers) all.push_back(connect_(Address(server)));
            for (size_t k = 0; k < all.size() * 2; k++)
                check(*all[k / 2], sizes, plan_.seed * 1000003 + (uint64_t)number * 1009 + k);
            if (!bulk) samples_[(size_t)number].reserve((size_t)std::min<int64_t>(plan_.limit, 1 << 20));
            ready_++;
            while (!started_) usleep_(100);
            prctl(PR_SET_TIMERSLACK, 1UL);
            wait_until(origin_);
            if (bulk)
                background(all, length(sizes));
            else if (plan_.rate > 0)
                open(all, number, length(sizes));
            else
                closed(all, number, length(sizes));
            for (size_t k = 0; k < all.size(); k++)
                check(*all[k], sizes, plan_.seed * 1000003 + (uint64_t)number * 1009 + 500 + k);
        } catch (const std::exception &error) {
            fprintf(stderr, "rpc client %d: %s\n", number, error.what());
            failed_++;
        }
        if (!bulk) done_++;
    }

    static size_t length(const std::vector<size_t> &sizes)
    {
        size_t sum = 0;
        for (size_t one : sizes) sum += one;
        return sum;
    }

    /* A window of calls to each server, all under way at once. */
    static void exchange(Connections &all, Method method, int window, size_t length)
    {
        for (auto &one : all) one->begin(method, window);
        for (auto &one : all)
            if (one->finish() != length * (size_t)window) throw std::runtime_error("an answer has a wrong length");
    }

    void closed(Connections &all, int number, size_t length)
    {
        auto &mine = samples_[(size_t)number];
        for (int64_t start = now_ns(); start < stop_ && begun_++ < plan_.limit; start = now_ns()) {
            exchange(all, plan_.method, plan_.window, length);
            mine.push_back({start - origin_, start - origin_, now_ns() - origin_, number});
        }
    }

    void open(Connections &all, int number, size_t length)
    {
        auto &mine = samples_[(size_t)number];
        std::mt19937_64 chance(plan_.seed * 7919 + (uint64_t)number);
        std::exponential_distribution<double> waiting(1.0);
        std::uniform_real_distribution<double> phase(0.0, 1.0);
        double mean = 1e9 * plan_.clients / plan_.rate;
        int64_t share = plan_.limit / plan_.clients + (number < plan_.limit % plan_.clients), calls = 0;
        int64_t due = origin_ + (int64_t)(phase(chance) * mean);            /* clients begin at moments of their own */
        int64_t last = stop_ + (int64_t)(plan_.seconds * 1e9) + 1000000000; /* for what waits */
        for (; due < stop_ && calls < share; calls++) {
            if (now_ns() < due) wait_until(due);
            int64_t start = now_ns();
            if (start > last) break;
            exchange(all, plan_.method, plan_.window, length);
            mine.push_back({due - origin_, start - origin_, now_ns() - origin_, number});
            due += (int64_t)(plan_.poisson ? waiting(chance) * mean : mean);
        }
        for (; due < stop_ && calls < share; calls++) {
            waiting_[(size_t)number]++;
            due += (int64_t)(plan_.poisson ? waiting(chance) * mean : mean);
        }
    }

    /* Send until the timed clients have ended. */
    void background(Connections &all, size_t length)
    {
        int64_t calls = 0, start = now_ns();
        while (done_ < plan_.clients && !failed_) exchange(all, SEND, 1, length), calls++;
        int64_t span = now_ns() - start, longest = bulk_ns_;
        bulk_calls_ += calls * (int64_t)all.size();
        while (span > longest && !bulk_ns_.compare_exchange_weak(longest, span)) continue;
    }

    const Plan &plan_;
    const Connect &connect_;
    std::vector<std::vector<Sample>> samples_;
    std::vector<int64_t> waiting_; /* calls that were due and never made */
    std::atomic<int> ready_{0}, failed_{0}, done_{0};
    std::atomic<bool> started_{false};
    std::atomic<int64_t> begun_{0}, bulk_calls_{0}, bulk_ns_{0};
    int64_t origin_ = 0, stop_ = 0;
};

inline std::vector<size_t> sizes_of(const Arguments &given, const std::string &name)
{
    std::vector<size_t> sizes;
    for (const auto &word : given.list(name)) sizes.push_back(std::stoull(word));
    return sizes;
}

/* Be a client: run the load that the arguments ask for. Returns the exit status. */
inline int run(const Arguments &given, const Connect &connect)
{
    Plan plan;
    plan.method = given.text("method", "echo") == "send" ? SEND : ECHO;
    plan.servers = given.list("address");
    plan.sizes = sizes_of(given, "buffers"), plan.bulk_sizes = sizes_of(given, "bulk_buffers");
    plan.clients = (int)given.number("clients", 1), plan.bulk_clients = (int)given.number("bulk_clients", 0);
    plan.window = (int)given.number("window", 1), plan.rate = given.number("rate", 0);
    plan.seconds = given.number("seconds", 1), plan.poisson = given.text("arrivals", "constant") == "poisson";
    plan.limit = (int64_t)given.number("limit", 1000000), plan.seed = (uint64_t)given.number("seed", 1);
    if (plan.servers.empty() || plan.sizes.empty() || plan.clients < 1 || plan.window < 1 || plan.limit < 1 ||
        (plan.bulk_clients > 0 && plan.bulk_sizes.empty()))
        throw std::runtime_error("an argument is missing or out of range");
    Run load(plan, connect);
    if (!load.all()) return 1;
    load.write(given.text("out", "samples"));
    return 0;
}

} // namespace load

#endif
