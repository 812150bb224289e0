import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire
import Testing

@testable import LFSAzure
@testable import LFSSigningServer

@Suite("Signed requests to Azure", .enabled(if: !TestContainer.all.isEmpty), .timeLimit(.minutes(10)))
struct ServerAzureTests {
    private static var loose: [TestContainer] { TestContainer.all.filter(\.byKey) }
    private static var binding: [TestContainer] { TestContainer.all.filter { !$0.byKey } }

    private func parameter(_ name: String, of action: SigningAction) -> String? {
        URLComponents(string: action.href)?.queryItems?.first { $0.name == name }?.value
    }

    @Test("A signature of a token covers every header of the action", arguments: binding)
    func fields(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let service = try open.service()
            let sample = Sample(3 << 20)
            let upload = try #require(
                try await service.ask(.upload, object: Sample(9).object("space/one")).action(for: .upload))
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            let (object, _) = sample.part(1, size: parts.partSize, of: parts.upload)
            let part = try #require(try await service.ask(.parts, object: object).action(for: .parts))
            for action in [upload, part] {
                let signed = Set(parameter("srh", of: action)?.split(separator: ",").map(String.init) ?? [])
                #expect(signed == Set(action.header.keys) && signed.contains("content-length"))
                #expect(parameter("sv", of: action) == "2026-04-06")
            }
            #expect(parameter("sp", of: upload) == "c" && upload.header["if-none-match"] == "*")
            #expect(parameter("sp", of: part) == "w" && parameter("srq", of: part) == "comp,blockid")
            // These queries would turn the request of a block into another operation.
            let (_, bytes) = sample.part(1, size: parts.partSize, of: parts.upload)
            for other in ["comp=blocklist", "comp=metadata", ""] {
                let href = part.href.replacingOccurrences(of: "comp=block&", with: other.isEmpty ? "" : other + "&")
                let status = try await open.send(part, bytes, href: href).status
                #expect(status == 403, "\(other): \(status)")
            }
        }
    }

    @Test("Signatures share one delegation key for half a day and expire before it", arguments: binding)
    func delegation(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let key = try ObjectKey("space/one")
            let signer = open.backend.signer
            let actions = try await withThrowingTaskGroup(of: SigningAction.self) { group in
                for _ in 0..<20 { group.addTask { try await signer.download(key, expires: .seconds(900)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let first = try #require(actions.first.flatMap { parameter("sig", of: $0) })
            #expect(!first.isEmpty && Set(actions.map { parameter("skt", of: $0) }).count == 1)
            open.clock.advance(by: 39_000)
            let late = try await signer.download(key, expires: .seconds(604_800))
            #expect(parameter("skt", of: late) == parameter("skt", of: actions[0]))
            #expect(late.expiresIn == 43_200)
            #expect(try #require(parameter("se", of: late)) < (try #require(parameter("ske", of: late))))
            open.clock.advance(by: 5_000)
            let next = try await signer.download(key, expires: .seconds(900))
            #expect(try #require(parameter("skt", of: next)) > (try #require(parameter("skt", of: late))))
        }
    }

    @Test("A shared access signature cannot sign requests")
    func signature() async throws {
        let storage = try AzureStorage(
            account: "recipes", container: "photos", credentials: .sas { "sv=2021-12-02&sp=rwcdl&sig=abc" })
        await #expect(throws: StorageError.self) { try await storage.requireSigning() }
        await #expect(throws: StorageError.self) {
            try await SigningBackend.azure(storage).signer.download(ObjectKey("space/one"), expires: .seconds(9))
        }
        await storage.shutdown()
    }

    @Test("A wrong object under a key signature is found and removed", arguments: loose)
    func wrongObject(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let service = try open.service()
            let (sample, other) = (Sample(1_000), Sample(1_001, seed: 2))
            let object = sample.object("space/one")
            let action = try #require(try await service.ask(.upload, object: object).action(for: .upload))
            #expect(action.proof == nil)
            #expect(try await open.send(action, other.bytes, without: "x-ms-blob-content-md5").isSuccess)
            // A false claim does not remove a correct object.
            #expect(try await service.ask(.confirm, object: object).error?.code == .integrity)
            #expect(try await service.ask(.head, object: object).error?.code == .missing)
            #expect(try await open.send(action, sample.bytes).isSuccess)
            var lie = object
            lie.md5 = Digests.md5(other.bytes)
            lie.size = 7
            #expect(try await service.ask(.confirm, object: lie).error?.code == .integrity)
            #expect(try await service.ask(.confirm, object: object).object != nil)
            let elsewhere = action.href.replacingOccurrences(of: "space/one", with: "space/two")
            #expect(try await open.send(action, sample.bytes, href: elsewhere).status == 403)
        }
    }

    @Test("Wrong blocks under a key signature produce no object", arguments: loose)
    func wrongBlocks(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let service = try open.service()
            let sample = Sample(TestStore(container: container).largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            for number in 1...3 {
                let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                let sent = number == 2 ? bytes.reversed() : bytes
                #expect(try await open.send(action, sent, without: "content-md5").isSuccess)
            }
            let done = sample.completion(parts.partSize, of: parts.upload)
            #expect(try await service.ask(.complete, object: done).error?.code == .integrity)
            #expect(try await service.ask(.head, object: SigningObject(key: "space/large")).error?.code == .missing)
        }
    }

    @Test("An upload in blocks is completed once even if its reply is lost", arguments: TestContainer.all)
    func lostReply(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let service = try open.service()
            let sample = Sample(TestStore(container: container).largeByteCount)
            var large = sample.object("space/large")
            large.type = "image/png"
            let parts = try #require(try await service.ask(.upload, object: large).parts)
            for number in 1...3 {
                let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                #expect(try await open.send(action, bytes).isSuccess)
            }
            let storage = try #require(open.container)
            try await container.order(["fault": "lose", "method": "PUT", "comp": "blocklist", "count": 2], of: storage)
            let done = sample.completion(parts.partSize, of: parts.upload)
            _ = try await service.ask(.complete, object: done)
            let present = try #require(try await service.ask(.state, object: done).present)
            #expect(present.map(\.number) == [1, 2, 3])
            #expect(try await service.ask(.complete, object: done).object?.size == Int64(sample.bytes.count))
            let download = try #require(try await service.ask(.download, object: large).action(for: .download))
            #expect(try await open.send(download).headers["content-type"] == "image/png")
            // An upload of other content does not replace the object.
            let other = Sample(sample.bytes.count, seed: 2)
            #expect(try await service.ask(.upload, object: other.object("space/large")).error?.code == .integrity)
        }
    }

    @Test("A replacing upload in blocks needs every block again", arguments: TestContainer.all)
    func replacing(_ container: TestContainer) async throws {
        try await TestStore(container: container).open { open in
            let service = try open.service()
            let sample = Sample(TestStore(container: container).largeByteCount)
            var object = sample.object("space/large")
            let first = try #require(try await service.ask(.upload, object: object).parts)
            try await sendBlocks(of: sample, parts: first, open: open, service: service)
            let done = sample.completion(first.partSize, of: first.upload)
            let old = try #require(try await service.ask(.complete, object: done).object)
            object.replace = true
            let second = try #require(try await service.ask(.upload, object: object).parts)
            let again = sample.completion(second.partSize, of: second.upload)
            // The blocks of the old object have the same names.
            #expect(try await service.ask(.state, object: again).present == [])
            #expect(try await service.ask(.complete, object: again).error?.code == .incomplete)
            try await sendBlocks(of: sample, parts: second, open: open, service: service)
            let new = try #require(try await service.ask(.complete, object: again).object)
            #expect(new.sha256 == old.sha256)
            #expect(new.entityTag != nil && new.entityTag != old.entityTag, "The object was written again.")
        }
    }

    private func sendBlocks(
        of sample: Sample, parts: SigningAnswer.Parts, open: OpenStore, service: SigningService
    ) async throws {
        for number in 1...3 {
            let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
            #expect(try await open.send(action, bytes).isSuccess)
        }
    }

    @Test("Block ids of two contents for one key never mix")
    func blockNames() throws {
        let (object, other) = (Digests.sha256([1]), Digests.sha256([2]))
        let id = try #require(SignedBlockID(md5: Digests.md5([3]), number: 70_000, of: object))
        #expect(id.text.utf8.count == BlockID(sha256: object, number: 1)?.text.utf8.count)
        #expect(SignedBlockID(listed: id.text, of: object) == id)
        #expect(SignedBlockID(listed: id.text, of: other) == nil)
        #expect(SignedBlockID(listed: "AAAA", of: object) == nil)
        #expect(try SignedBlockID(listed: #require(BlockID(sha256: object, number: 1)).text, of: object) == nil)
    }
}
