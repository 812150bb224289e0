import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSWebDAV

@Suite("Faults of WebDAV servers and proxies", .timeLimit(.minutes(10)))
struct FaultTests {
    private let key = Result { try ObjectKey("space/file") }
    private let path = "/dav/space/file"

    private func errors(_ storage: WebDAVStorage, deletes: Bool = true) async throws -> [StorageError?] {
        let key = try key.get()
        let deletion = deletes ? [try await storageError { try await storage.delete(key, abandoning: nil) }] : []
        return deletion + [
            try await storageError { try await storage.upload(.temporary([1]), to: key, session: UploadSession()) },
            try await storageError { try await storage.head(key) },
            try await storageError { try await storage.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            try await storageError { try await storage.list(ListRequest(prefix: "")) },
        ]
    }

    @Test("A standard WebDAV server meets the storage contract", arguments: StorageConformance.checks)
    func contract(_ check: StorageCheck) async throws {
        // Two checks need a slow network.
        guard !check.name.contains("cancelled"), !check.name.contains("entity tag") else { return }
        try await check.run(against: FakeDAV().storage())
    }

    @Test("A proxy's successful page confirms no WebDAV operation", arguments: [200, 201, 204])
    func signInPage(_ status: Int) async throws {
        let fake = FakeDAV { _, _ in .page(status) }
        // A page never has the status 204, with which servers confirm a deletion.
        for error in try await errors(fake.storage(), deletes: status != 204) {
            #expect([.unreachable, .serverError].contains(error?.code), "\(error?.message ?? "no error")")
        }
    }

    @Test("A proxy's 404 does not mean that a WebDAV object is missing")
    func proxy() async throws {
        let fake = FakeDAV { _, _ in .page(404) }
        for error in try await errors(fake.storage()) { #expect(error?.code == .misconfigured) }
    }

    @Test("A redirect of a WebDAV server or a proxy is not followed", arguments: [301, 302, 307, 511])
    func redirect(_ status: Int) async throws {
        let fake = FakeDAV { _, _ in FakeDAV.Answer(status: status, headers: ["location": "https://evil/"]) }
        for error in try await errors(fake.storage()) { #expect(error?.code == .unreachable) }
        #expect(fake.requests.allSatisfy { $0.origin.host == "host" })
    }

    @Test("A file with a wrong size after the upload is removed with an error", arguments: [0, 9, 11])
    func wrongSize(_ size: Int) async throws {
        let fake = FakeDAV { request, fake in
            guard request.method == .propfind, fake.files[request.target] != nil else { return nil }
            return .xml(FakeDAV.multistatus([FakeDAV.entry(request.target, size: size)]))
        }
        let error = try await storageError {
            try await fake.storage().upload(
                .temporary(SampleBytes.make(10)), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .integrity)
        #expect(fake.files.isEmpty, "the temporary file is deleted too")
    }

    @Test("An unexpected status of a MOVE fails the upload", arguments: [200, 202, 207])
    func oddMove(_ status: Int) async throws {
        let fake = FakeDAV { request, _ in request.method == .move ? FakeDAV.Answer(status: status) : nil }
        let error = try await storageError {
            try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .serverError)
    }

    @Test("An unknown status for an existing target still replaces the file")
    func takenPlace() async throws {
        let fake = FakeDAV { request, fake in
            let isTaken = request.method == .move && request.headers["overwrite"] == "F"
            return isTaken && fake.files["/dav/space/file"] != nil ? FakeDAV.Answer(status: 400) : nil
        }
        let storage = try fake.storage()
        for byte in [1, 2] as [UInt8] {
            _ = try await storage.upload(.temporary([byte]), to: key.get(), session: UploadSession())
            #expect(fake.files == [path: [byte]])
        }
    }

    /// Servers use any of these statuses for two concurrent replacements of a file.
    @Test(
        "A refused replacement is retried a few times",
        arguments: [400, 403, 404, 409, 412, 423, 500])
    func busyPlace(_ status: Int) async throws {
        for (refusals, isThere) in [(5, true), (6, false)] {
            let rest = Mutex(refusals)
            let fake = FakeDAV { request, _ in
                guard request.method == .move, request.headers["overwrite"] == "T" else { return nil }
                let isRefused = rest.withLock { rest in
                    rest -= 1
                    return rest >= 0
                }
                return isRefused ? FakeDAV.Answer(status: status) : nil
            }
            fake.put(path, bytes: [1])
            let error = try await storageError {
                try await fake.storage().upload(.temporary([2]), to: key.get(), session: UploadSession())
            }
            #expect((error == nil) == isThere, "\(error?.message ?? "")")
            #expect(fake.files == [path: isThere ? [2] : [1]])
        }
    }

    /// Uploads a byte twice to a server that answers the first MOVE wrongly.
    ///
    /// - Returns: the error of the first upload.
    private func uploadTwice(_ fake: FakeDAV) async throws -> StorageError? {
        let storage = try fake.storage()
        let error = try await storageError {
            try await storage.upload(.temporary([2]), to: key.get(), session: UploadSession())
        }
        _ = try await storage.upload(.temporary([2]), to: key.get(), session: UploadSession())
        return error
    }

    @Test("An upload is retried if the server reports its temporary file as missing", arguments: [404, 410])
    func lostFile(_ status: Int) async throws {
        let wasMoved = Mutex(false)
        let fake = FakeDAV { request, _ in
            guard request.method == .move else { return nil }
            let isFirst = wasMoved.withLock { wasMoved in
                defer { wasMoved = true }
                return !wasMoved
            }
            return isFirst ? FakeDAV.Answer(status: status) : nil
        }
        let error = try await uploadTwice(fake)
        #expect(error?.code == .serverError && error?.isRetryable == true, "\(error?.message ?? "no error")")
        #expect(fake.files == [path: [2]])
    }

    @Test("An upload is retried if the server moved its file and answered with an error")
    func unreportedMove() async throws {
        let path = path
        let wasMoved = Mutex(false)
        let fake = FakeDAV { request, fake in
            guard request.method == .move, request.headers["overwrite"] == "T" else { return nil }
            let isFirst = wasMoved.withLock { wasMoved in
                defer { wasMoved = true }
                return !wasMoved
            }
            guard isFirst else { return nil }
            fake.put(path, bytes: fake.files[request.target] ?? [])
            fake.remove(request.target)
            return FakeDAV.Answer(status: 500)
        }
        fake.put(path, bytes: [1])
        let error = try await uploadTwice(fake)
        #expect(error?.code == .serverError && error?.isRetryable == true, "\(error?.message ?? "no error")")
        #expect(fake.files == [path: [2]])
    }

    @Test("A 412 to a download without a condition does not mean that the file changed")
    func unexpectedCondition() async throws {
        let fake = FakeDAV { request, _ in request.method == .get ? FakeDAV.Answer(status: 412) : nil }
        fake.put(path, bytes: [1])
        let error = try await storageError {
            try await fake.storage().download(DownloadRequest(key.get()), into: DownloadSink { _ in })
        }
        #expect(error?.code == .serverError)
    }

    @Test("A truncated WebDAV listing is refused", arguments: [1, 40, 60, 300])
    func cutList(_ missing: Int) async throws {
        let fake = FakeDAV { request, _ in
            guard request.method == .propfind, request.headers["depth"] == "1" else { return nil }
            let whole = FakeDAV.multistatus([
                FakeDAV.entry("/dav/", size: nil), FakeDAV.entry("/dav/a", size: 1), FakeDAV.entry("/dav/b", size: 1),
            ])
            return .xml(String(whole.dropLast(missing)))
        }
        let error = try await storageError { try await fake.storage().list(ListRequest(prefix: "")) }
        #expect(error?.code == .serverError)
    }

    @Test("Invalid names in a WebDAV listing are ignored, and a malformed one is refused")
    func hostileList() async throws {
        func list(_ entries: [String]) async throws -> [String] {
            let fake = FakeDAV { request, _ in
                request.headers["depth"] == "1"
                    ? .xml(FakeDAV.multistatus([FakeDAV.entry("/dav/", size: nil)] + entries)) : nil
            }
            return try await fake.storage().list(ListRequest(prefix: "")).objects.map(\.key.rawValue)
        }
        let elsewhere = [
            "/dav/../etc", "/dav/%2e%2e/x", "/other/a", "https://evil/dav/../a", "/dav/A", "/dav/.hidden", "/dav/a/b",
            "/dav/a%00b", "/dav/%ZZ", "", "/dav",
        ]
        for href in elsewhere where !href.isEmpty {
            #expect(
                try await list([FakeDAV.entry(href, size: 1), FakeDAV.entry("/dav/ok", size: 1)]) == ["ok"], "\(href)")
        }
        #expect(try await list([FakeDAV.entry("https://host/dav/ok", size: 1)]) == ["ok"])
        for size in ["-1", "1e3", "99999999999999999999", "0x1"] {
            let entry = FakeDAV.entry("/dav/ok", size: 1).replacing(">1<", with: ">\(size)<")
            let error = try await storageError { try await list([entry]) }
            #expect(error?.code == .serverError, "\(size)")
        }
        for entry in [
            FakeDAV.entry("", size: 1), "<D:response></D:response>", "<D:response><D:href>/dav/a</D:response>",
        ] {
            #expect(try await storageError { try await list([entry]) }?.code == .serverError, "\(entry)")
        }
        let long = FakeDAV.entry("/dav/" + String(repeating: "a", count: 100_000), size: 1)
        #expect(try await storageError { try await list([long]) }?.code == .serverError)
    }

    @Test("Paths rewritten by a proxy are reported instead of an empty listing")
    func otherAddresses() async throws {
        let fake = FakeDAV { request, _ in
            guard request.method == .propfind else { return nil }
            let size = request.target.hasSuffix("/") ? nil : 1
            return .xml(FakeDAV.multistatus([FakeDAV.entry("/internal" + request.target, size: size)]))
        }
        let storage = try fake.storage()
        #expect(try await storage.head(key.get()).byteCount == 1, "the only entry counts as the requested object")
        #expect(try await storageError { try await storage.list(ListRequest(prefix: "")) }?.code == .misconfigured)
    }

    @Test("A status inside a listing is distinguished from an empty listing")
    func statusInside() async throws {
        let text = Mutex("")
        let fake = FakeDAV { request, _ in request.method == .propfind ? .xml(text.withLock { $0 }) : nil }
        let storage = try fake.storage()
        for (status, code) in [("404 Not Found", .missing), ("403 Forbidden", .serverError)]
            as [(String, StorageError.Code)]
        {
            text.withLock {
                $0 = FakeDAV.multistatus([
                    "<D:response><D:href>/dav/space/file</D:href><D:status>HTTP/1.1 \(status)</D:status></D:response>"
                ])
            }
            #expect(try await storageError { try await storage.head(key.get()) }?.code == code)
        }
        text.withLock { $0 = FakeDAV.multistatus([]) }
        #expect(try await storageError { try await storage.head(key.get()) }?.code == .misconfigured)
    }

    @Test("A refused folder creation is ignored if another client has made the folder", arguments: [403, 409, 500])
    func folderRace(_ status: Int) async throws {
        let fake = FakeDAV { request, fake in
            guard request.method == .mkcol else { return nil }
            fake.put("/dav/space/other", bytes: [])
            return FakeDAV.Answer(status: status)
        }
        _ = try await fake.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        #expect(fake.files[path] == [1])
        let refusing = FakeDAV { request, _ in request.method == .mkcol ? FakeDAV.Answer(status: status) : nil }
        let error = try await storageError {
            try await refusing.storage().upload(.temporary([1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.cause is WebDAVFailure)
    }

    /// The row was written by another program.
    @Test("A key with the name of a folder leaves the folder and its contents unchanged")
    func keyOfFolder() async throws {
        let fake = FakeDAV()
        fake.put(path, bytes: [1])
        let storage = try fake.storage()
        let folder = try ObjectKey("space")
        try await storage.delete(folder, abandoning: nil)
        let error = try await storageError {
            try await storage.upload(.temporary([2]), to: folder, session: UploadSession())
        }
        #expect(error?.code == .invalidKey)
        #expect(fake.files == [path: [1]])
        #expect(!fake.requests.contains { $0.method == .delete && !$0.target.contains("~") })
        #expect(!fake.requests.contains { $0.method == .move && $0.headers["overwrite"] == "T" })
    }

    @Test("A media type with a control character does not fail the upload")
    func oddMediaType() async throws {
        let fake = FakeDAV()
        let bytes: [UInt8] = [1, 2]
        let source = UploadSource(
            byteCount: Int64(bytes.count), sha256: SampleBytes.sha256(bytes), contentType: "image/png\n"
        ) { buffer, offset in
            let piece = bytes[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            return piece.count
        }
        _ = try await fake.storage().upload(source, to: key.get(), session: UploadSession())
        #expect(fake.files == [path: bytes])
        let put = fake.requests.first { $0.method == .put }
        #expect(put?.headers["content-type"] == "application/octet-stream")
    }

    @Test("A listing of endlessly nested folders ends")
    func endlessFolders() async throws {
        let fake = FakeDAV { request, _ in
            guard request.headers["depth"] == "1" else { return nil }
            return .xml(
                FakeDAV.multistatus([
                    FakeDAV.entry(request.target, size: nil), FakeDAV.entry(request.target + "a/", size: nil),
                ]))
        }
        #expect(try await fake.storage().list(ListRequest(prefix: "")).objects.isEmpty)
        #expect(fake.requests.count < 300)
    }

    /// The server has a tree of 16,383 folders, which is endless for the walk. Deeper paths would make the test slow.
    @Test("A listing of folders that branch without end fails")
    func branchingFolders() async throws {
        let fake = FakeDAV { request, _ in
            guard request.headers["depth"] == "1" else { return nil }
            let isLeaf = request.target.utf8.count >= "/dav/".utf8.count + 13 * "a/".utf8.count
            let entries = (isLeaf ? [""] : ["", "a/", "b/"]).map { FakeDAV.entry(request.target + $0, size: nil) }
            return .xml(FakeDAV.multistatus(entries))
        }
        let error = try await storageError { try await fake.storage().list(ListRequest(prefix: "")) }
        #expect(error?.code == .serverError)
        #expect(fake.requests.count < 11_000)
    }

    @Test("Concurrent refused requests fetch one new token")
    func tokens() async throws {
        let given = Mutex(0)
        let fake = FakeDAV { request, _ in
            request.headers["authorization"] == "Bearer 2" ? nil : FakeDAV.Answer(status: 401)
        }
        fake.put(path, bytes: [1])
        let storage = try fake.storage(
            credentials: .bearer {
                given.withLock { count in
                    count += 1
                    return String(count)
                }
            })
        let key = try key.get()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<10 { tasks.addTask { _ = try await storage.head(key) } }
            try await tasks.waitForAll()
        }
        #expect(given.withLock { $0 } == 2)
    }

    @Test("A refused token is not sent again")
    func refused() async throws {
        let fake = FakeDAV { _, _ in
            FakeDAV.Answer(status: 401, headers: ["www-authenticate": "Digest realm=\"x\", nonce=\"canary\""])
        }
        let storage = try fake.storage(credentials: .bearer { "canary-token" })
        let error = try await storageError { try await storage.head(key.get()) }
        #expect(error?.code == .unauthorized)
        #expect(error?.message.contains("Digest") == true)
        #expect(fake.requests.count == 1, "the same token would be refused again")
        #expect(error.map { !String(reflecting: $0).contains("canary") } == true)
    }

    @Test("An HTML reply to a download is checked against the file's size")
    func pageOrFile() async throws {
        let page = FakeDAV.Answer.page(200)
        let isFile = FakeDAV { request, _ in
            request.method == .get
                ? FakeDAV.Answer(
                    status: 200, headers: ["content-type": "text/html", "content-length": "\(page.body.count)"],
                    body: page.body) : nil
        }
        isFile.put(path, bytes: page.body)
        #expect(try await isFile.storage().contents(key.get()) == page.body)
        isFile.put(path, bytes: page.body + [1])
        let bytes = Mutex(0)
        let error = try await storageError {
            try await isFile.storage().download(
                DownloadRequest(key.get()), into: DownloadSink { piece in bytes.withLock { $0 += piece.count } })
        }
        #expect(error?.code == .unreachable)
        #expect(bytes.withLock { $0 } == 0)
    }

    @Test("A download gets an object that appeared after the server answered 404")
    func lateObject() async throws {
        let path = path
        let fake = FakeDAV { request, fake in
            guard request.method == .get, fake.files[path] == nil else { return nil }
            fake.put(path, bytes: [1, 2, 3])
            return FakeDAV.Answer(status: 404)
        }
        #expect(try await fake.storage().contents(key.get()) == [1, 2, 3])
        #expect(fake.requests.count { $0.method == .get } == 2)
    }

    @Test("A download stops after the second 404 for an object that the server lists")
    func unreadableObject() async throws {
        let fake = FakeDAV { request, _ in request.method == .get ? FakeDAV.Answer(status: 404) : nil }
        fake.put(path, bytes: [1, 2, 3])
        let error = try await storageError { try await fake.storage().contents(key.get()) }
        #expect(error?.code == .missing)
        #expect(fake.requests.count { $0.method == .get } == 2)
    }

    @Test("A tag that changes from weak to strong does not end a resumed download")
    func weakTag() async throws {
        let tag = Mutex("W/\"7\"")
        let fake = FakeDAV { request, fake in
            guard request.method == .get else { return nil }
            let bytes = fake.files[request.target] ?? []
            let start = request.headers["range"] == nil ? 0 : 2
            return FakeDAV.Answer(
                status: start == 0 ? 200 : 206,
                headers: HTTPHeaders(
                    dictionaryLiteral: ("etag", tag.withLock { $0 }), ("content-length", "\(bytes.count - start)"),
                    ("content-range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")),
                body: Array(bytes[start...]))
        }
        fake.put(path, bytes: [1, 2, 3, 4])
        let storage = try fake.storage()
        func rest(_ tag: String?) async throws -> RemoteObject {
            try await storage.download(
                DownloadRequest(key.get(), range: 2..<4, entityTag: tag), into: DownloadSink { _ in })
        }
        let first = try await rest(nil)
        tag.withLock { $0 = "\"7\"" }
        _ = try await rest(first.entityTag)
        tag.withLock { $0 = "\"8\"" }
        #expect(try await storageError { try await rest(first.entityTag) }?.code == .changed)
        #expect(fake.requests.allSatisfy { $0.headers["if-match"] == nil })
    }
}
