import Foundation
import Glibc

/// A connection that sends exactly the given bytes. A client library would correct deliberate mistakes.
final class RawConnection: Sendable {
    struct Failed: Error {
        let call: String
        let code: Int32
    }

    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failed(call: "socket", code: errno) }
        // A server that does not answer fails the test with an error instead of the time limit.
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failed(call: "connect", code: errno) }
    }

    deinit { close(descriptor) }

    /// Sends as much as the server accepts. The server may close the connection early.
    func send(_ data: Data) {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the next bytes, or nil at the end.
    func read() throws -> Data? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0, errno != ECONNRESET { throw Failed(call: "recv", code: errno) }
        return count > 0 ? Data(bytes[..<count]) : nil
    }

    func readToEnd() throws -> Data {
        var all = Data()
        while let bytes = try read() { all += bytes }
        return all
    }
}

/// Runs a blocking call in a separate thread. Swift's threads must not block, and the database needs the system's
/// queues to answer.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: body)) }
    }
}
