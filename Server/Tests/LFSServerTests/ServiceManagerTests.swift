import Dispatch
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Notifications of systemd", .timeLimit(.minutes(10)))
struct ServiceManagerTests {
    private static func arguments(in folder: URL) -> [String] {
        [
            "--database", folder.appending(path: "rows.sqlite").path, "--listen", "127.0.0.1:0", "--url",
            "http://127.0.0.1/lfs",
        ]
    }

    @Test func `The server reports that it is ready, and later that it stops`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let manager = try NotificationReceiver(path: folder.appending(path: "notify").path)
            let ended = try await ServerProcess.run(
                in: folder, arguments: Self.arguments(in: folder), environment: ["NOTIFY_SOCKET": manager.path]
            ) { server in
                try await manager.expect("READY=1")
                #expect(try await server.routes.send("GET", path: "/health/live").status == 200)
            }
            #expect(ended == 0)
            try await manager.expect("STOPPING=1")
        }
    }

    @Test func `SIGHUP reports the start and the end of a reload`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let manager = try NotificationReceiver(path: folder.appending(path: "notify").path)
            try await ServerProcess.run(
                in: folder, arguments: Self.arguments(in: folder), environment: ["NOTIFY_SOCKET": manager.path]
            ) { server in
                try await manager.expect("READY=1")
                kill(server.id, SIGHUP)
                let reload = try await manager.next()
                #expect(reload.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=\d+/) != nil)
                try await manager.expect("READY=1")
            }
        }
    }

    @Test func `A missing socket of systemd is logged and does not stop the server`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let missing = folder.appending(path: "missing").path
            let ended = try await ServerProcess.run(
                in: folder, arguments: Self.arguments(in: folder), environment: ["NOTIFY_SOCKET": missing]
            ) { server in
                try await eventually { try server.log().contains("systemd did not receive") }
                #expect(try await server.routes.send("GET", path: "/health/live").status == 200)
            }
            #expect(ended == 0)
        }
    }
}

/// The datagram socket of a service manager. Blocking calls run on a global dispatch queue.
private final class NotificationReceiver: Sendable {
    struct Failure: Error {}

    let path: String
    private let socket: Int32

    init(path: String) throws {
        self.path = path
        #if canImport(Glibc)
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        socket = Darwin.socket(AF_UNIX, SOCK_DGRAM, 0)
        #endif
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Failure() }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound else { throw Failure() }
    }

    deinit { close(socket) }

    /// Requires that the next message is this one.
    func expect(_ message: String) async throws {
        let received = try await next()
        #expect(received == message)
    }

    /// Returns the next message.
    func next() async throws -> String {
        try await withCheckedThrowingContinuation { done in
            DispatchQueue.global().async { [socket] in
                var bytes = [UInt8](repeating: 0, count: 4 << 10)
                let count = recv(socket, &bytes, bytes.count, 0)
                done.resume(
                    with: count < 0
                        ? .failure(Failure()) : .success(String(decoding: bytes.prefix(count), as: UTF8.self)))
            }
        }
    }
}
