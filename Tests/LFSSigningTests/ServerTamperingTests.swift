import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire
import TestSupport
import Testing

@testable import LFSS3
@testable import LFSSigning

/// What somebody may try with a request that was signed for something else. Each is refused by the store itself.
@Suite("A signed request that was tampered with", .timeLimit(.minutes(10)))
struct ServerTamperingTests {
    private struct Row {
        let what: String
        let status: Int
    }

    private func requireRefused(_ rows: [Row], _ store: TestStore, _ what: String) {
        for row in rows {
            #expect((400..<500).contains(row.status), "\(store.testDescription), \(what), \(row.what): \(row.status)")
        }
        let cells = rows.map { "\($0.what) \($0.status)" }.joined(separator: " | ")
        print("refused | \(store.testDescription) | \(what) | \(cells)")
    }

    @Test("is refused for an upload with one request", arguments: TestStore.all)
    func upload(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let (sample, other) = (Sample(1_000), Sample(1_000, seed: 2))
            let action = try #require(try await service.ask(.upload, sample.object("space/one")).action(for: .upload))
            var rows: [Row] = []
            func tried(_ what: String, _ sent: OpenStore.Sent) { rows.append(Row(what: what, status: sent.status)) }
            tried("other body", try await open.send(action, other.bytes))
            tried("longer body", try await open.send(action, sample.bytes + [1]))
            tried("shorter body", try await open.send(action, Array(sample.bytes.dropLast())))
            let elsewhere = action.href.replacingOccurrences(of: "space/one", with: "space/two")
            tried("other key", try await open.send(action, sample.bytes, href: elsewhere))
            tried("GET", try await open.send(action, method: "GET"))
            tried("DELETE", try await open.send(action, method: "DELETE"))
            for field in action.header.keys.sorted() where field != "content-length" || open.backend.folder != nil {
                tried("without \(field)", try await open.send(action, sample.bytes, without: field))
            }
            await #expect(throws: (any Error).self) {
                try await open.backend.objects.storage.head(ObjectKey("space/one"))
            }
            await #expect(throws: (any Error).self) {
                try await open.backend.objects.storage.head(ObjectKey("space/two"))
            }
            // The right one, so that a refusal of everything does not pass.
            let sent = try await open.send(action, sample.bytes)
            #expect(sent.isSuccess && action.proof?.isMet(by: sent.headers[action.proof?.header ?? ""]) == true)
            tried("used twice", try await open.send(action, sample.bytes))
            requireRefused(rows, store, "upload")
        }
    }

    @Test("is refused for a part", arguments: TestStore.all)
    func part(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, sample.object("space/large")).parts)
            let (object, bytes) = sample.part(1, parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object).action(for: .parts))
            var rows: [Row] = []
            func tried(_ what: String, _ sent: OpenStore.Sent) { rows.append(Row(what: what, status: sent.status)) }
            tried("other body", try await open.send(action, bytes.reversed()))
            tried("longer body", try await open.send(action, bytes + [1]))
            let (second, _) = sample.part(2, parts.partSize, of: parts.upload)
            let other = try #require(try await service.ask(.parts, second).action(for: .parts))
            tried("other part", try await open.send(action, bytes, href: store.href(action, as: other)))
            tried(
                "other key",
                try await open.send(
                    action, bytes, href: action.href.replacingOccurrences(of: "space/large", with: "space/other")))
            for field in action.header.keys.sorted() where field != "content-length" {
                tried("without \(field)", try await open.send(action, bytes, without: field))
            }
            #expect(try await open.send(action, bytes).isSuccess)
            #expect(try await service.ask(.abort, sample.completion(parts.partSize, of: parts.upload)) == .done)
            // Where blocks wait without an upload they are dropped, and may come again.
            if store.knowsUploads { tried("after abort", try await open.send(action, bytes)) }
            requireRefused(rows, store, "part")
        }
    }

    @Test("is refused for a download", arguments: TestStore.all)
    func download(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            for key in ["space/one", "space/two"] {
                let sample = Sample(100)
                let action = try #require(try await service.ask(.upload, sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            let action = try #require(
                try await service.ask(.download, SigningObject(key: "space/one")).action(for: .download))
            #expect(try await open.send(action).body == Sample(100).bytes)
            var rows: [Row] = []
            let elsewhere = action.href.replacingOccurrences(of: "space/one", with: "space/two")
            rows.append(Row(what: "other key", status: try await open.send(action, href: elsewhere).status))
            for method in ["PUT", "DELETE"] {
                rows.append(Row(what: method, status: try await open.send(action, [1], method: method).status))
            }
            requireRefused(rows, store, "download")
        }
    }

    /// The clock that has signed is 20 minutes behind the store's, for URLs that live 15.
    @Test("is refused when it has expired", arguments: TestStore.all)
    func expired(_ store: TestStore) async throws {
        try await store.open(signedAt: -1_200) { open in
            let key = try ObjectKey("space/one")
            let sample = Sample(100)
            let bytes = AnnouncedBytes(
                byteCount: 100, sha256: Digests.sha256(sample.bytes), md5: Digests.md5(sample.bytes))
            let order = UploadOrder(key: key, bytes: bytes, replaces: false)
            let signer = open.backend.signer
            let live = try await signer.upload(order, expires: .seconds(3_600))
            let upload = try await signer.upload(order, expires: .seconds(900))
            let download = try await signer.download(key, expires: .seconds(900))
            open.clock.advance(by: 1_200)
            let statuses = [
                try await open.send(upload, sample.bytes).status, try await open.send(download).status,
            ]
            requireRefused(
                [Row(what: "upload", status: statuses[0]), Row(what: "download", status: statuses[1])], store, "expired"
            )
            // One that is as old and lives longer is taken: it is the end that counts.
            #expect(try await open.send(live, sample.bytes).isSuccess)
        }
    }
}
