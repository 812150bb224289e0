import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire
import TestSupport
import Testing

@testable import LFSS3
@testable import LFSSigningServer

/// Attempts to use a signed request for another purpose. The store itself refuses each of them.
@Suite("Tampered signed requests", .timeLimit(.minutes(10)))
struct ServerTamperingTests {
    private struct Row {
        let what: String
        let status: Int
    }

    private func requireRefused(_ rows: [Row], store: TestStore, what: String) {
        for row in rows {
            #expect((400..<500).contains(row.status), "\(store.testDescription), \(what), \(row.what): \(row.status)")
        }
        let cells = rows.map { "\($0.what) \($0.status)" }.joined(separator: " | ")
        print("refused | \(store.testDescription) | \(what) | \(cells)")
    }

    @Test("A tampered upload request is refused", arguments: TestStore.all)
    func upload(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let (sample, other) = (Sample(1_000), Sample(1_000, seed: 2))
            let action = try #require(
                try await service.ask(.upload, object: sample.object("space/one")).action(for: .upload))
            var rows: [Row] = []
            func tried(_ what: String, sent: OpenStore.Sent) { rows.append(Row(what: what, status: sent.status)) }
            tried("other body", sent: try await open.send(action, other.bytes))
            tried("longer body", sent: try await open.send(action, sample.bytes + [1]))
            tried("shorter body", sent: try await open.send(action, Array(sample.bytes.dropLast())))
            let elsewhere = action.href.replacingOccurrences(of: "space/one", with: "space/two")
            tried("other key", sent: try await open.send(action, sample.bytes, href: elsewhere))
            tried("GET", sent: try await open.send(action, method: "GET"))
            tried("DELETE", sent: try await open.send(action, method: "DELETE"))
            for field in action.header.keys.sorted() where field != "content-length" || open.backend.folder != nil {
                tried("without \(field)", sent: try await open.send(action, sample.bytes, without: field))
            }
            await #expect(throws: (any Error).self) {
                try await open.backend.objects.storage.head(ObjectKey("space/one"))
            }
            await #expect(throws: (any Error).self) {
                try await open.backend.objects.storage.head(ObjectKey("space/two"))
            }
            // The right request succeeds, so that a store that refuses everything does not pass.
            let sent = try await open.send(action, sample.bytes)
            #expect(sent.isSuccess && action.proof?.isMet(by: sent.headers[action.proof?.header ?? ""]) == true)
            tried("used twice", sent: try await open.send(action, sample.bytes))
            requireRefused(rows, store: store, what: "upload")
        }
    }

    @Test("A tampered request for a part is refused", arguments: TestStore.all)
    func part(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            let (object, bytes) = sample.part(1, size: parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
            var rows: [Row] = []
            func tried(_ what: String, sent: OpenStore.Sent) { rows.append(Row(what: what, status: sent.status)) }
            tried("other body", sent: try await open.send(action, bytes.reversed()))
            tried("longer body", sent: try await open.send(action, bytes + [1]))
            let (second, _) = sample.part(2, size: parts.partSize, of: parts.upload)
            let other = try #require(try await service.ask(.parts, object: second).action(for: .parts))
            tried("other part", sent: try await open.send(action, bytes, href: store.href(action, as: other)))
            tried(
                "other key",
                sent: try await open.send(
                    action, bytes, href: action.href.replacingOccurrences(of: "space/large", with: "space/other")))
            for field in action.header.keys.sorted() where field != "content-length" {
                tried("without \(field)", sent: try await open.send(action, bytes, without: field))
            }
            #expect(try await open.send(action, bytes).isSuccess)
            #expect(try await service.ask(.abort, object: sample.completion(parts.partSize, of: parts.upload)) == .done)
            // A store without upload sessions drops blocks on abort but accepts them again.
            if store.knowsUploads { tried("after abort", sent: try await open.send(action, bytes)) }
            requireRefused(rows, store: store, what: "part")
        }
    }

    @Test("A tampered download request is refused", arguments: TestStore.all)
    func download(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            for key in ["space/one", "space/two"] {
                let sample = Sample(100)
                let action = try #require(
                    try await service.ask(.upload, object: sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            let action = try #require(
                try await service.ask(.download, object: SigningObject(key: "space/one")).action(for: .download))
            #expect(try await open.send(action).body == Sample(100).bytes)
            var rows: [Row] = []
            let elsewhere = action.href.replacingOccurrences(of: "space/one", with: "space/two")
            rows.append(Row(what: "other key", status: try await open.send(action, href: elsewhere).status))
            for method in ["PUT", "DELETE"] {
                rows.append(Row(what: method, status: try await open.send(action, [1], method: method).status))
            }
            requireRefused(rows, store: store, what: "download")
        }
    }

    /// The signing clock is 20 minutes behind the store's clock, and the URLs are valid for 15 minutes.
    @Test("An expired signed request is refused", arguments: TestStore.all)
    func expired(_ store: TestStore) async throws {
        try await store.open(signedAt: -1_200) { open in
            let key = try ObjectKey("space/one")
            let sample = Sample(100)
            let bytes = DeclaredContent(
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
                [Row(what: "upload", status: statuses[0]), Row(what: "download", status: statuses[1])], store: store,
                what: "expired"
            )
            // An equally old request with a longer lifetime is accepted.
            #expect(try await open.send(live, sample.bytes).isSuccess)
        }
    }
}
