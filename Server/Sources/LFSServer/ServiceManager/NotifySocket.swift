import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The datagram socket of a service manager, which receives the state of a service: sd_notify(3).
struct NotifySocket: Sendable {
    /// An error of a socket call, with the address of the socket.
    struct Failure: Error, CustomStringConvertible {
        let address: String
        let reason: String

        var description: String { "\(address): \(reason)" }
    }

    /// The path of the socket, or the name of an abstract socket of Linux after "@".
    let address: String

    /// Sends a message, which is lines of `NAME=VALUE`. Waits while the manager's queue is full.
    ///
    /// - Throws: ``Failure``.
    func send(_ message: String) throws(Failure) {
        var target = sockaddr_un()
        let length = try fill(&target)
        let number = socket(AF_UNIX, Self.datagram, 0)
        guard number >= 0 else { throw failure(errno) }
        defer { close(number) }
        let bytes = Array(message.utf8)
        var count = 0
        repeat {
            count = withUnsafePointer(to: &target) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(number, bytes, bytes.count, 0, $0, length)
                }
            }
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw failure(errno) }
    }

    /// Writes the address into the structure, and returns the length of the structure.
    private func fill(_ target: inout sockaddr_un) throws(Failure) -> socklen_t {
        var bytes = Array(address.utf8)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"), !bytes.contains(0) else {
            throw Failure(address: address, reason: "This is neither a path nor an abstract name.")
        }
        // An abstract name begins with a zero byte. A path ends with one.
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        guard bytes.count <= MemoryLayout.size(ofValue: target.sun_path) else { throw failure(ENAMETOOLONG) }
        target.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: bytes) }
        let start = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 0
        return socklen_t(start + bytes.count)
    }

    private func failure(_ code: Int32) -> Failure {
        Failure(address: address, reason: String(cString: strerror(code)))
    }

    #if canImport(Glibc)
    private static let datagram = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
    private static let datagram = SOCK_DGRAM | SOCK_CLOEXEC
    #else
    private static let datagram = SOCK_DGRAM
    #endif
}
