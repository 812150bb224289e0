import Foundation
import LFSHTTP
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSCurl

#if os(Linux)
import Glibc

/// Tests of the authorities that are trusted for a server's certificate. The engine runs on a thread with its own mount
/// namespace, in which a folder of the test replaces the system's authorities.
@Suite(
    .enabled(if: Machine.canMount && Machine.has("openssl"), "needs root to mount, and openssl"),
    .timeLimit(.minutes(10)))
struct AuthorityTests {
    enum Trusted: CaseIterable { case system, another, theServers }

    @Test(arguments: Trusted.allCases) func namedAuthoritiesReplaceTheSystems(_ trusted: Trusted) async throws {
        try await withTemporaryFolder { folder in
            let identity = try TestAuthority("server", in: folder).identity("server")
            _ = try TestAuthority("another", in: folder)
            let system = folder.child("system")
            try FileManager.default.createDirectory(at: system, withIntermediateDirectories: false)
            // The system trusts the server through its folder of authorities.
            for file in [("another", "ca-certificates.crt"), ("server", "server.pem")] {
                try FileManager.default.copyItem(
                    at: folder.child("\(file.0).pem"), to: system.child(file.1))
            }
            try #require(try runTool("openssl", arguments: ["rehash", system.path]))
            let server = try TLSServer(identity)
            defer { server.end() }
            var options = HTTPOptions()
            switch trusted {
            case .system: break
            case .another: options.certificateAuthorities = folder.child("another.pem").path
            case .theServers: options.certificateAuthorities = folder.child("server.pem").path
            }
            let outcome = try await ask(server.port, options: options, system: system.path)
            #expect(outcome == (trusted == .another ? .untrusted : nil))
        }
    }

    private func ask(_ port: Int, options: HTTPOptions, system: String) async throws -> HTTPError.Code? {
        let thread = EngineThread(options, time: { .now }) { _ throws(SystemError) in }
        let inbox = thread.inbox
        let origin = HTTPOrigin(isSecure: true, host: "127.0.0.1", port: port)
        let outcome = try await code {
            try await Transfer(HTTPRequest(.get, origin: origin, target: "/")).result { transfer in
                _ = inbox.submit(transfer)
                Thread.detachNewThread {
                    do {
                        try Self.putOverAuthorities(system)
                    } catch {
                        thread.runElsewhere(inbox.end())
                        return transfer.end(.failure(error))
                    }
                    thread.runLoop()
                }
            } cancel: {
                inbox.cancel($0)
            }
        }
        inbox.close()
        await inbox.waitUntilClosed()
        return outcome
    }

    /// Mounts the folder for the calling thread and its children only.
    private static func putOverAuthorities(_ folder: String) throws {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: Unshare.self) }
        // CLONE_NEWNS of sched.h, which is not visible in Swift.
        guard unshare?(0x20000) == 0, try runTool("mount", arguments: ["--make-rprivate", "/"]),
            try runTool("mount", arguments: ["--bind", folder, "/etc/ssl/certs"])
        else { throw CannotMount() }
    }

    private struct CannotMount: Error {}
}
#endif
