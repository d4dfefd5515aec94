// The service of labkit's Thrift server and client.
namespace cpp labkit.rpc

struct Payload {
  1: list<binary> buffers
}

service Rpc {
  Payload echo(1: Payload payload)
  i64 send(1: Payload payload)
  i64 digest(1: Payload payload)
}
