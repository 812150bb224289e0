import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// A proxy that forwards connections to a server and counts the bytes of both directions. The atomics own the counts.
final class CountingProxy: Sendable {
    let url: URL
    private let listener: Int32
    private let target: UInt16
    private let sent = Atomic<Int>(0)
    private let received = Atomic<Int>(0)

    /// The number of bytes that clients have sent so far, including request heads.
    var sentBytes: Int { sent.load(ordering: .relaxed) }
    /// The number of bytes that clients have received so far, including reply heads.
    var receivedBytes: Int { received.load(ordering: .relaxed) }

    init(to server: URL) throws {
        target = UInt16(server.port ?? 80)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var address = Self.loopback(port: 0)
        let listener = listener
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(listener, raw, length) != 0 || listen(listener, 64) != 0
                    || getsockname(listener, raw, &length) != 0
            }
        }
        guard !failed, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        self.url = url
        Thread.detachNewThread { self.accept() }
    }

    /// Accepts no more connections. Open connections end with their clients.
    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        return address
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = connect()
            guard server >= 0 else {
                _ = Glibc.close(client)
                continue
            }
            // The direction that ends last closes both descriptors.
            let left = Left(client, server)
            Thread.detachNewThread {
                left.ended(self.pass(client, to: server) { self.sent.add($0, ordering: .relaxed) })
            }
            Thread.detachNewThread {
                left.ended(self.pass(server, to: client) { self.received.add($0, ordering: .relaxed) })
            }
        }
        _ = Glibc.close(listener)
    }

    private func connect() -> Int32 {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(port: target)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                Glibc.connect(server, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status == 0 { return server }
        _ = Glibc.close(server)
        return -1
    }

    private func pass(_ from: Int32, to: Int32, _ count: (Int) -> Void) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let received = recv(from, buffer.baseAddress, buffer.count, 0)
            guard received > 0 else { break }
            count(received)
            var sent = 0
            while sent < received {
                let step = send(to, buffer.baseAddress.map { $0 + sent }, received - sent, Int32(MSG_NOSIGNAL))
                guard step > 0 else { return }
                sent += step
            }
        }
        // The server must see that a killed client is disconnected, and must not wait for it.
        shutdown(to, Int32(SHUT_RDWR))
    }

    private final class Left: Sendable {
        private let descriptors: [Int32]
        private let count = Atomic<Int>(2)

        init(_ descriptors: Int32...) { self.descriptors = descriptors }

        func ended(_: Void) {
            if count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                for descriptor in descriptors { _ = Glibc.close(descriptor) }
            } else {
                for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
        }
    }
}
