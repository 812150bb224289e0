import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

@testable import LFSCurl

#if os(Linux)
import Glibc

/// Whose word on a server's certificate counts. The engine runs on a thread with a file system of its own, in which the
/// folder of the system's authorities is the test's.
@Suite(
    .enabled(if: Machine.canMount && Machine.has("openssl"), "needs root to mount, and openssl"),
    .timeLimit(.minutes(10)))
struct AuthorityTests {
    enum Trusted: CaseIterable { case system, another, theServers }

    @Test(arguments: Trusted.allCases) func namedAuthoritiesReplaceTheSystems(_ trusted: Trusted) async throws {
        try await withTemporaryFolder { folder in
            for name in ["server", "another"] { try makeCertificate(name, in: folder) }
            let system = folder.child("system")
            try FileManager.default.createDirectory(at: system, withIntermediateDirectories: false)
            // The system trusts the server, by its folder.
            for file in [("another", "ca-certificates.crt"), ("server", "server.pem")] {
                try FileManager.default.copyItem(
                    at: folder.child("\(file.0).pem"), to: system.child(file.1))
            }
            try #require(try runTool("openssl", ["rehash", system.path]))
            let server = try TLSServer(folder)
            defer { server.end() }
            var options = HTTPOptions()
            switch trusted {
            case .system: break
            case .another: options.certificateAuthorities = folder.child("another.pem").path
            case .theServers: options.certificateAuthorities = folder.child("server.pem").path
            }
            let outcome = try await ask(server.port, options, system: system.path)
            #expect(outcome == (trusted == .another ? .untrusted : nil))
        }
    }

    private func ask(_ port: Int, _ options: HTTPOptions, system: String) async throws -> HTTPError.Code? {
        let inbox = Inbox()
        let origin = HTTPOrigin(isSecure: true, host: "127.0.0.1", port: port)
        let outcome = try await code {
            try await Transfer(HTTPRequest(.get, origin, "/")).result { transfer in
                _ = inbox.submit(transfer)
                Thread.detachNewThread {
                    do {
                        try Self.putOverAuthorities(system)
                    } catch {
                        inbox.end()
                        return transfer.end(.failure(error))
                    }
                    EventLoop(options, inbox, time: { .now })?.run()
                }
            } cancel: {
                inbox.cancel($0)
            }
        }
        inbox.close()
        await inbox.waitUntilClosed()
        return outcome
    }

    /// For the calling thread alone, and what it starts.
    private static func putOverAuthorities(_ folder: String) throws {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let unshare = dlsym(nil, "unshare").map { unsafeBitCast($0, to: Unshare.self) }
        // CLONE_NEWNS of sched.h, which Swift does not see.
        guard unshare?(0x20000) == 0, try runTool("mount", ["--make-rprivate", "/"]),
            try runTool("mount", ["--bind", folder, "/etc/ssl/certs"])
        else { throw CannotMount() }
    }

    private struct CannotMount: Error {}

    private func makeCertificate(_ name: String, in folder: URL) throws {
        try #require(
            try runTool(
                "openssl",
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", folder.child("\(name).key").path, "-out",
                    folder.child("\(name).pem").path,
                ]))
    }
}

/// OpenSSL's own server, which answers every request with a page.
private final class TLSServer {
    let port: Int
    private let process = Process()

    init(_ folder: URL) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", folder.child("server.pem").path, "-key",
            folder.child("server.key").path,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It says `ACCEPT 127.0.0.1:PORT` when it listens.
        var text = ""
        while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        port = text.split(separator: "\n").last?.split(separator: ":").last.flatMap { Int($0) } ?? 0
    }

    func end() {
        // It has inherited a mask of signals in which the polite one is blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
#endif
