/* gRPC server and client. Built from rpc.proto with the libraries grpc++ grpc gpr protobuf pthread.

     rpc_grpc server address=tcp:HOST:PORT|unix:PATH [threads=N]
     rpc_grpc client address=A,B… buffers=SIZE,… [serialised=0|1] [method=echo|send] … (rpc_load.h)

   Every method is there twice: with messages of Protocol Buffers, and with raw byte buffers, as TensorFlow sends its
   tensors. Both go through the same synchronous server, whose threads gRPC chooses. */
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>
#if __has_include(<grpcpp/impl/proto_utils.h>)
#include <grpcpp/impl/proto_utils.h>
#else /* before gRPC 1.55 */
#include <grpcpp/impl/codegen/proto_utils.h>
#endif

#include "rpc.pb.h"
#include "rpc_load.h"

namespace
{

using grpc::ByteBuffer;
using grpc::Slice;
using grpc::Status;
using labkit::rpc::Answer;
using labkit::rpc::Payload;

const char *const METHODS[2][3] = {{"/labkit.rpc.Raw/Echo", "/labkit.rpc.Raw/Send", "/labkit.rpc.Raw/Digest"},
                                   {"/labkit.rpc.Rpc/Echo", "/labkit.rpc.Rpc/Send", "/labkit.rpc.Rpc/Digest"}};

/* ---- what the two kinds of messages differ in */

void make(Payload *payload, const load::Buffers &buffers)
{
    payload->clear_buffers();
    for (const auto &one : buffers) payload->add_buffers(one);
}

void make(ByteBuffer *payload, const load::Buffers &buffers)
{
    std::vector<Slice> slices;
    for (const auto &one : buffers) slices.emplace_back(one);
    *payload = ByteBuffer(slices.data(), slices.size());
}

std::vector<Slice> slices_of(const ByteBuffer &payload)
{
    std::vector<Slice> slices;
    if (!payload.Dump(&slices).ok()) throw std::runtime_error("a message cannot be read");
    return slices;
}

std::string joined(const Payload &payload)
{
    std::string all;
    for (const auto &one : payload.buffers()) all += one;
    return all;
}

std::string joined(const ByteBuffer &payload)
{
    std::string all;
    for (const auto &one : slices_of(payload)) all.append((const char *)one.begin(), one.size());
    return all;
}

size_t length_of(const Payload &payload)
{
    size_t length = 0;
    for (const auto &one : payload.buffers()) length += one.size();
    return length;
}

size_t length_of(const ByteBuffer &payload) { return payload.Length(); }

void put(Payload *answer, const Payload *request)
{
    answer->Swap(const_cast<Payload *>(request)); /* as a service that passes on what it got */
}

void put(ByteBuffer *answer, const ByteBuffer *request) { *answer = *request; /* refers to the same slices */ }

void put(Answer *answer, uint64_t number) { answer->set_number(number); }

void put(ByteBuffer *answer, uint64_t number)
{
    Slice one(&number, sizeof number);
    *answer = ByteBuffer(&one, 1);
}

uint64_t number_of(const Answer &answer) { return answer.number(); }

uint64_t number_of(const ByteBuffer &answer)
{
    uint64_t number = 0;
    std::string bytes = joined(answer);
    if (bytes.size() != sizeof number) throw std::runtime_error("an answer has a wrong length");
    memcpy(&number, bytes.data(), sizeof number);
    return number;
}

/* ---- server */

template <class Message, class Number> class Service : public grpc::Service
{
  public:
    explicit Service(const char *const *methods)
    {
        add<Message>(methods[load::ECHO],
                     [](Service *, grpc::ServerContext *, const Message *request, Message *answer) {
                         put(answer, request);
                         return Status::OK;
                     });
        add<Number>(methods[load::SEND], [](Service *, grpc::ServerContext *, const Message *request, Number *answer) {
            put(answer, (uint64_t)length_of(*request));
            return Status::OK;
        });
        add<Number>(methods[load::DIGEST],
                    [](Service *, grpc::ServerContext *, const Message *request, Number *answer) {
                        std::string all = joined(*request);
                        put(answer, load::digest(all.data(), all.size()));
                        return Status::OK;
                    });
    }

  private:
    template <class Result, class Function> void add(const char *name, Function function)
    {
        using grpc::internal::RpcMethod;
        auto *handler = new grpc::internal::RpcMethodHandler<Service, Message, Result>(function, this);
        AddMethod(new grpc::internal::RpcServiceMethod(name, RpcMethod::NORMAL_RPC, handler));
    }
};

std::string target(const load::Address &address)
{
    if (address.unix_socket) return "unix:" + address.host;
    bool six = address.host.find(':') != std::string::npos;
    return (six ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

int serve(const load::Arguments &given)
{
    Service<Payload, Answer> serialised(METHODS[1]);
    Service<ByteBuffer, ByteBuffer> raw(METHODS[0]);
    grpc::ServerBuilder builder;
    int threads = (int)given.number("threads", 0), port = 0;
    builder.SetMaxReceiveMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    if (threads) builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, threads);
    std::string where = target(load::Address(given.text("address", "")));
    builder.AddListeningPort(where, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&serialised);
    builder.RegisterService(&raw);
    auto server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("cannot listen on " + where);
    server->Wait();
    return 0;
}

/* ---- client */

template <class Message, class Number> class Caller : public load::Connection
{
  public:
    Caller(const load::Address &address, const char *const *methods) : names_(methods, methods + 3)
    {
        grpc::ChannelArguments arguments;
        arguments.SetMaxReceiveMessageSize(-1);
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); /* each client has a connection of its own */
        auto channel = grpc::CreateCustomChannel(target(address), grpc::InsecureChannelCredentials(), arguments);
        auto end = std::chrono::system_clock::now() + std::chrono::seconds(20);
        if (!channel->WaitForConnected(end)) throw std::runtime_error("no connection to " + target(address));
        messages_.reset(new grpc::TemplatedGenericStub<Message, Message>(channel));
        numbers_.reset(new grpc::TemplatedGenericStub<Message, Number>(channel));
    }

    void prepare(const load::Buffers &buffers) override { make(&payload_, buffers); }

    void begin(load::Method method, int count) override
    {
        method_ = method;
        if (calls_.size() < (size_t)count) calls_.resize((size_t)count);
        under_way_ = count;
        for (int k = 0; k < count; k++) {
            Call &call = calls_[(size_t)k];
            call.context.reset(new grpc::ClientContext);
            if (method == load::ECHO)
                start(*messages_, call, &call.message, call.for_message);
            else
                start(*numbers_, call, &call.number, call.for_number);
        }
    }

    uint64_t finish() override
    {
        uint64_t sum = 0;
        for (; under_way_; under_way_--) {
            void *tag;
            bool fine;
            if (!queue_.Next(&tag, &fine) || !fine) throw std::runtime_error("a call was lost");
            Call &call = *static_cast<Call *>(tag);
            if (!call.status.ok()) throw std::runtime_error(call.status.error_message());
            sum += method_ == load::ECHO ? length_of(call.message) : number_of(call.number);
        }
        return sum;
    }

    uint64_t number() const override { return number_of(calls_[0].number); }

    std::string echoed() const override { return joined(calls_[0].message); }

  private:
    struct Call {
        std::unique_ptr<grpc::ClientContext> context;
        Status status;
        Message message;
        Number number;
        std::unique_ptr<grpc::ClientAsyncResponseReader<Message>> for_message;
        std::unique_ptr<grpc::ClientAsyncResponseReader<Number>> for_number;
    };

    template <class Stub, class Result, class Reader> void start(Stub &stub, Call &call, Result *result, Reader &reader)
    {
        reader = stub.PrepareUnaryCall(call.context.get(), names_[method_], payload_, &queue_);
        reader->StartCall();
        reader->Finish(result, &call.status, &call);
    }

    std::vector<std::string> names_;
    std::unique_ptr<grpc::TemplatedGenericStub<Message, Message>> messages_;
    std::unique_ptr<grpc::TemplatedGenericStub<Message, Number>> numbers_;
    grpc::CompletionQueue queue_;
    Message payload_;
    std::vector<Call> calls_;
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
        if (role == "client") {
            bool serialised = given.number("serialised", 1) != 0;
            return load::run(given, [serialised](const load::Address &address) -> std::unique_ptr<load::Connection> {
                if (!serialised)
                    return std::unique_ptr<load::Connection>(new Caller<ByteBuffer, ByteBuffer>(address, METHODS[0]));
                return std::unique_ptr<load::Connection>(new Caller<Payload, Answer>(address, METHODS[1]));
            });
        }
    } catch (const std::exception &error) {
        fprintf(stderr, "rpc_grpc: %s\n", error.what());
        return 1;
    }
    printf("rpc_grpc (gRPC %s)\n", grpc::Version().c_str());
    return role == "--version" ? 0 : 1;
}
