import Foundation

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A TCP port of 127.0.0.1 for a server that cannot choose one itself.
package struct ReservedPort: Sendable {
    package let number: UInt16

    /// Reserves a free port for the rest of the run.
    ///
    /// A socket stays bound to the port, so that no other process gets it. On Linux a server that sets `SO_REUSEADDR`,
    /// as most servers do, may bind to it as well, because that socket never listens. On other systems the port is free
    /// again.
    package init() throws {
        #if canImport(Glibc)
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
        let socket = socket(AF_INET, SOCK_STREAM, 0)
        defer { close(socket) }
        #endif
        guard socket >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var isShared: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(socket, raw, length) == 0 && getsockname(socket, raw, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        number = UInt16(bigEndian: address.sin_port)
    }
}
