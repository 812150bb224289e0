import Foundation
import GRDB
import JournalStorage
import JournalWeb
import LFS
import Testing

@Suite("The client certificate of a journal", .timeLimit(.minutes(10)))
struct StoredCertificateTests {
    /// A journal whose bucket and sync server are behind proxies that require a client certificate.
    private struct Journal {
        let folder: URL
        let authority: TestAuthority
        let bucket: AnsweringServer
        let bucketProxy: TLSProxy
        let syncProxy: TLSProxy
        let environment: [String: String]

        private static let options = ["--database", "journal.sqlite", "--secrets", "state"]

        var storage: [String] {
            ["--storage", "s3://photos?endpoint=https://127.0.0.1:\(bucketProxy.port)&addressing=path&region=x"]
        }
        var sync: [String] { ["--sync", "https://127.0.0.1:\(syncProxy.port)"] }

        func run(_ arguments: [String], input: String? = nil) async throws -> ChildProcess.Result {
            try await ChildProcess.run(
                "journal", arguments: arguments + Self.options, in: folder, input: input, environment: environment)
        }

        func serve(_ arguments: [String]) throws -> ChildProcess {
            let serve = ["serve", "--listen", "127.0.0.1:0"] + arguments + Self.options
            return try ChildProcess("journal", arguments: serve, in: folder, environment: environment)
        }
    }

    private func run(_ body: (SyncStand, Journal) async throws -> Void) async throws {
        try await withStand { stand in
            try await withFolder { folder in
                let bucket = try AnsweringServer { request, _ in .uploaded(request) }
                defer { bucket.close() }
                let authority = try TestAuthority(in: folder)
                let certificate = try TestCertificate("proxy", in: folder)
                func proxy(before server: URL?) throws -> TLSProxy {
                    try TLSProxy(
                        certificate, before: try #require(server?.port), in: folder, requiring: authority.certificate)
                }
                let journal = Journal(
                    folder: folder, authority: authority, bucket: bucket, bucketProxy: try proxy(before: bucket.url),
                    syncProxy: try proxy(before: URL(string: stand.url)),
                    environment: bucket.environment.merging([
                        "AWS_CA_BUNDLE": certificate.certificate, "CURL_CA_BUNDLE": certificate.certificate,
                        "LFS_SYNC_TOKEN": try await stand.token("ann"),
                    ]) { $1 })
                let pool = try await DatabaseStorageService.openDatabase(at: folder.appending(path: "journal.sqlite"))
                try pool.close()
                try await body(stand, journal)
                for proxy in [journal.bucketProxy, journal.syncProxy] { try proxy.stop() }
            }
        }
    }

    @Test("A stored certificate opens a bucket and a sync server that require one")
    func stored() async throws {
        try await run { stand, journal in
            let identity = try journal.authority.identity("client")
            let file = journal.folder.appending(path: "client.p12")
            try TestAuthority.bundle(identity, password: "a secret").write(to: file)
            let set = try await journal.run(["secrets", "set-certificate", "client.p12"], input: "a secret\n")
            try #require(set.status == 0, "\(set)")
            let demo = ["demo", "--records", "2", "--pictures", "2", "--wait"] + journal.storage
            let filled = try await journal.run(demo)
            try #require(filled.status == 0, "\(filled)")
            #expect(journal.bucket.count >= 2)
            let child = try journal.serve(journal.storage + journal.sync)
            defer { if child.process.isRunning { child.process.terminate() } }
            // Another device of the account, without a proxy.
            try await stand.device("one") { one in
                try await one.until { one in
                    let images = try await one.journal.storedImages(of: try await one.journal.loadAllRecords())
                    return images.count == 2 && images.values.allSatisfy { $0.file.status == .remote }
                }
                #expect(try await one.journal.loadAllRecords().count == 2)
            }
            child.process.terminate()
            let ended = try child.wait()
            #expect(ended.status == 0, "\(ended)")
        }
    }

    @Test("Without the certificate that a bucket requires, the server does not start")
    func missingForBucket() async throws {
        try await run { _, journal in
            let child = try journal.serve(["--create-bucket"] + journal.storage)
            #expect(try await child.address() == "")
            if child.process.isRunning { child.process.terminate() }
            let ended = try child.wait()
            #expect(ended.status == 1 && ended.messages.contains("requires a client certificate"), "\(ended)")
            #expect(journal.bucket.count == 0)
        }
    }

    @Test("Without the certificate that a sync server requires, pages ask for one")
    func missingForSync() async throws {
        try await run { _, journal in
            let child = try journal.serve(["--storage", "dir:remote"] + journal.sync)
            defer { if child.process.isRunning { child.process.terminate() } }
            let text = try await child.address()
            let address = try #require(ListenAddress(String(text.dropFirst("http://".count))))
            try await address.wait(for: "requires a client certificate") { try await address.page("/") }
            #expect(try journal.syncProxy.received == "")
            child.process.terminate()
            let ended = try child.wait()
            #expect(ended.status == 0, "\(ended)")
        }
    }
}
