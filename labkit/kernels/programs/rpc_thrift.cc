/* Apache Thrift server and client. Built from rpc.thrift with the libraries thrift thriftnb event pthread.

     rpc_thrift server address=tcp:HOST:PORT|unix:PATH [protocol=P] [framing=F] [model=threaded|nonblocking] [threads=N]
     rpc_thrift client address=A,B… buffers=SIZE,… [protocol=P] [framing=F] [method=echo|send] … (rpc_load.h)

   P is binary, compact or json; F is framed or buffered. */
#include <thrift/TToString.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include "Rpc.h"
#include "rpc_load.h"

namespace
{

using namespace apache::thrift;
using namespace apache::thrift::protocol;
using namespace apache::thrift::server;
using namespace apache::thrift::transport;
using labkit::rpc::Payload;
using std::make_shared;
using std::shared_ptr;

/* ---- what both ends must agree on */

shared_ptr<TProtocolFactory> protocols(const load::Arguments &given)
{
    std::string name = given.text("protocol", "binary");
    if (name == "compact") return make_shared<TCompactProtocolFactory>();
    if (name == "json") return make_shared<TJSONProtocolFactory>();
    if (name == "binary") return make_shared<TBinaryProtocolFactory>();
    throw std::runtime_error("protocol=" + name + ", but it must be binary, compact or json");
}

/* Thrift counts the bytes of a message against its limit of 100 MiB, and does not begin anew with the next message. */
template <class Transport> class Counting : public Transport
{
  public:
    using Transport::Transport;

    uint32_t readEnd() override
    {
        this->resetConsumedMessageSize();
        return Transport::readEnd();
    }
};

template <class Transport> class Transports : public TTransportFactory
{
  public:
    shared_ptr<TTransport> getTransport(shared_ptr<TTransport> socket) override
    {
        return make_shared<Counting<Transport>>(socket);
    }
};

shared_ptr<TTransportFactory> transports(const load::Arguments &given)
{
    std::string name = given.text("framing", "framed");
    if (name == "framed") return make_shared<Transports<TFramedTransport>>();
    if (name == "buffered") return make_shared<Transports<TBufferedTransport>>();
    throw std::runtime_error("framing=" + name + ", but it must be framed or buffered");
}

/* ---- server */

class Handler : public labkit::rpc::RpcIf
{
  public:
    void echo(Payload &answer, const Payload &payload) override
    {
        answer.buffers.swap(const_cast<Payload &>(payload).buffers); /* as a service that passes on what it got */
    }

    int64_t send(const Payload &payload) override { return (int64_t)load::length_of(payload.buffers); }

    int64_t digest(const Payload &payload) override
    {
        uint64_t sum = load::digest("", 0);
        for (const auto &one : payload.buffers) sum = load::digest(one.data(), one.size(), sum);
        return (int64_t)sum;
    }
};

int serve(const load::Arguments &given)
{
    load::Address where(given.text("address", ""));
    auto processor = make_shared<labkit::rpc::RpcProcessor>(make_shared<Handler>());
    if (given.text("model", "threaded") == "nonblocking") {
        auto socket = where.unix_socket ? make_shared<TNonblockingServerSocket>(where.host)
                                        : make_shared<TNonblockingServerSocket>(where.host, where.port);
        TNonblockingServer server(processor, protocols(given), socket);
        server.setNumIOThreads((size_t)given.number("threads", 1));
        server.serve();
        return 0;
    }
    auto socket =
        where.unix_socket ? make_shared<TServerSocket>(where.host) : make_shared<TServerSocket>(where.host, where.port);
    TThreadedServer server(processor, socket, transports(given), protocols(given));
    server.serve();
    return 0;
}

/* ---- client */

class Caller : public load::Connection
{
  public:
    Caller(const load::Address &address, const load::Arguments &given)
    {
        auto socket =
            address.unix_socket ? make_shared<TSocket>(address.host) : make_shared<TSocket>(address.host, address.port);
        auto transport = transports(given)->getTransport(socket);
        client_.reset(new labkit::rpc::RpcClient(protocols(given)->getProtocol(transport)));
        transport->open();
    }

    void prepare(const load::Buffers &buffers) override { payload_.buffers = buffers; }

    void begin(load::Method method, int count) override
    {
        method_ = method, under_way_ = count;
        for (int k = 0; k < count; k++) {
            if (method == load::ECHO)
                client_->send_echo(payload_);
            else if (method == load::SEND)
                client_->send_send(payload_);
            else
                client_->send_digest(payload_);
        }
    }

    uint64_t finish() override
    {
        uint64_t sum = 0;
        for (; under_way_; under_way_--) {
            if (method_ == load::ECHO) {
                client_->recv_echo(answer_);
                sum += load::length_of(answer_.buffers);
            } else {
                number_ = (uint64_t)(method_ == load::SEND ? client_->recv_send() : client_->recv_digest());
                sum += number_;
            }
        }
        return sum;
    }

    uint64_t number() const override { return number_; }

    std::string echoed() const override
    {
        std::string all;
        for (const auto &one : answer_.buffers) all += one;
        return all;
    }

  private:
    std::unique_ptr<labkit::rpc::RpcClient> client_;
    Payload payload_, answer_;
    uint64_t number_ = 0;
    load::Method method_ = load::ECHO;
    int under_way_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
    load::Arguments given(argc, argv);
    std::string role = argc > 1 ? argv[1] : "";
    try {
        if (role == "server") return serve(given);
        if (role == "client")
            return load::run(given, [&given](const load::Address &address) -> std::unique_ptr<load::Connection> {
                return std::unique_ptr<load::Connection>(new Caller(address, given));
            });
    } catch (const std::exception &error) {
        fprintf(stderr, "rpc_thrift: %s\n", error.what());
        return 1;
    }
    printf("rpc_thrift (Apache Thrift %s)\n", PACKAGE_VERSION);
    return role == "--version" ? 0 : 1;
}
