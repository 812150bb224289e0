import Foundation
import LFSStorage
import LFSWire
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Signed URL workflow", .timeLimit(.minutes(10)))
struct ServerFlowTests {
    private func upload(
        _ sample: Sample, key: String, open: OpenStore, service: SigningService, replace: Bool = false
    ) async throws -> OpenStore.Sent {
        var object = sample.object(key)
        object.replace = replace
        let action = try #require(try await service.ask(.upload, object: object).action(for: .upload))
        return try await open.send(action, sample.bytes)
    }

    @Test("An object is uploaded, listed, downloaded and deleted by signed URLs", arguments: TestStore.allAndLoose)
    func small(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(3_000)
            #expect(try await service.ask(.head, object: SigningObject(key: "space/one")).error?.code == .missing)
            #expect(try await upload(sample, key: "space/one", open: open, service: service).isSuccess)
            let object = try #require(try await service.ask(.head, object: SigningObject(key: "space/one")).object)
            #expect(object.size == 3_000)
            let confirmed = try await service.ask(.confirm, object: sample.object("space/one")).object
            #expect(confirmed?.sha256 == Digests.sha256(sample.bytes))
            #expect(
                try await service.ask(.confirm, object: Sample(3_000, seed: 2).object("space/one")).error?.code
                    == .integrity)
            var list = SigningObject()
            list.prefix = "space/"
            #expect(try await service.ask(.list, object: list).page?.objects.map(\.key) == ["space/one"])
            let action = try #require(
                try await service.ask(.download, object: SigningObject(key: "space/one")).action(for: .download))
            let sent = try await open.send(action)
            #expect(sent.body == sample.bytes)
            #expect(sent.headers["etag"]?.replacing("\"", with: "") == object.entityTag)
            #expect(try await service.ask(.delete, object: SigningObject(key: "space/one")) == .done)
            #expect(try await service.ask(.delete, object: SigningObject(key: "space/one")) == .done)
            #expect(try await service.ask(.head, object: SigningObject(key: "space/one")).error?.code == .missing)
        }
    }

    @Test("An empty object is uploaded, confirmed, downloaded and deleted", arguments: TestStore.allAndLoose)
    func empty(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(0)
            let action = try #require(
                try await service.ask(.upload, object: sample.object("space/empty")).action(for: .upload))
            let sent = try await open.send(action, [])
            #expect(sent.isSuccess)
            #expect(action.proof?.isMet(by: sent.headers[action.proof?.header ?? ""]) ?? true)
            #expect(try await open.send(action, [1]).isSuccess == false)
            #expect(try await service.ask(.confirm, object: sample.object("space/empty")).object?.size == 0)
            #expect(try await service.ask(.confirm, object: Sample(1).object("space/empty")).error?.code == .integrity)
            let download = try #require(
                try await service.ask(.download, object: SigningObject(key: "space/empty")).action(for: .download))
            let fetched = try await open.send(download)
            #expect(fetched.isSuccess && fetched.body.isEmpty)
            #expect(try await service.ask(.delete, object: SigningObject(key: "space/empty")) == .done)
            #expect(try await service.ask(.head, object: SigningObject(key: "space/empty")).error?.code == .missing)
        }
    }

    @Test("Other content replaces an object only if the request says so", arguments: TestStore.allAndLoose)
    func replacing(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let (first, second) = (Sample(500), Sample(600, seed: 2))
            #expect(try await upload(first, key: "space/one", open: open, service: service).isSuccess)
            let status = try await upload(second, key: "space/one", open: open, service: service).status
            #expect(status == (store.container == nil ? 412 : 409))
            #expect(try await service.ask(.confirm, object: second.object("space/one")).error?.code == .integrity)
            #expect(try await service.ask(.confirm, object: first.object("space/one")).object != nil)
            #expect(try await upload(second, key: "space/one", open: open, service: service, replace: true).isSuccess)
            #expect(try await service.ask(.confirm, object: second.object("space/one")).object != nil)
        }
    }

    @Test("An upload in parts resumes with the stored parts", arguments: TestStore.allAndLoose)
    func parts(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            #expect(parts.partSize == store.partSize)
            let done = sample.completion(parts.partSize, of: parts.upload)
            for number in [2, 1] {
                let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                let sent = try await open.send(action, bytes)
                let isProven = action.proof?.isMet(by: sent.headers[action.proof?.header ?? ""])
                #expect(sent.isSuccess && isProven == (store.provesBytes ? true : nil))
            }
            let present = try #require(try await service.ask(.state, object: done).present)
            #expect(present.map(\.number) == [1, 2])
            let (one, _) = sample.part(1, size: parts.partSize, of: parts.upload)
            #expect(present[0].sha256 == one.sha256 || present[0].md5 == one.md5)
            #expect(try await service.ask(.complete, object: done).error?.code == .incomplete)
            let (object, bytes) = sample.part(3, size: parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
            #expect(try await open.send(action, bytes).isSuccess)
            var wrong = done
            wrong.partsSHA256 = one.sha256
            wrong.partsMD5 = one.md5
            #expect(try await service.ask(.complete, object: wrong).error?.code == .incomplete)
            let answer = try await service.ask(.complete, object: done)
            let made = try #require(answer.object, "\(answer)")
            #expect(made.size == Int64(sample.bytes.count) && made.sha256 == Digests.sha256(sample.bytes))
            // The client repeats the request as if the reply had been lost, and another process of the server answers
            // it.
            let again = try await open.service().ask(.complete, object: done)
            #expect(again.object?.sha256 == made.sha256, "\(again)")
            let download = try #require(
                try await service.ask(.download, object: SigningObject(key: "space/large")).action(for: .download))
            #expect(try await open.send(download).body == sample.bytes)
        }
    }

    @Test("An object is removed only while it is unchanged", arguments: TestStore.allAndLoose)
    func removal(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let (first, second) = (Sample(500), Sample(600, seed: 2))
            let (key, objects) = (try ObjectKey("space/one"), open.backend.objects)
            #expect(try await upload(first, key: "space/one", open: open, service: service).isSuccess)
            let old = try await objects.storage.head(key)
            #expect(try await upload(second, key: "space/one", open: open, service: service, replace: true).isSuccess)
            try await objects.remove(old)
            #expect(try await objects.storage.head(key).byteCount == 600, "somebody else's stays")
            try await objects.remove(objects.storage.head(key))
            #expect(try await service.ask(.head, object: SigningObject(key: "space/one")).error?.code == .missing)
        }
    }

    @Test("A part of a wrong size or number is not signed", arguments: TestStore.allAndLoose)
    func wrongParts(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            var (object, _) = sample.part(1, size: parts.partSize, of: parts.upload)
            object.size = parts.partSize - 1
            #expect(try await service.ask(.parts, object: object).error?.code == .invalidRequest)
            (object, _) = sample.part(1, size: parts.partSize, of: parts.upload)
            object.number = 4
            #expect(try await service.ask(.parts, object: object).error?.code == .invalidRequest)
            var removal = SigningObject(key: "space/large")
            removal.upload = parts.upload
            #expect(try await service.ask(.delete, object: removal) == .done)
            let state = try await service.ask(.state, object: object)
            #expect(store.knowsUploads ? state.error?.code == .lostUpload : state.present == [])
        }
    }

    @Test(
        "Parts do not stay if other content was stored under their key",
        arguments: TestStore.all.filter(\.joinsConditionally))
    func taken(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            var completions: [SigningObject] = []
            for seed in [1, 2] as [UInt64] {
                let sample = Sample(store.largeByteCount, seed: seed)
                let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
                for number in 1...3 {
                    let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                    let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                    #expect(try await open.send(action, bytes).isSuccess)
                }
                completions.append(sample.completion(parts.partSize, of: parts.upload))
            }
            #expect(try await service.ask(.complete, object: completions[0]).object != nil)
            #expect(try await service.ask(.complete, object: completions[1]).error?.code == .integrity)
            #expect(try await service.ask(.state, object: completions[1]).error?.code == .lostUpload)
        }
    }

    @Test("An existing object is not uploaded again", arguments: TestStore.allAndLoose.filter { $0.server == nil })
    func existing(_ store: TestStore) async throws {
        try await store.open { open in
            let service = try open.service()
            let sample = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            for number in 1...3 {
                let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                #expect(try await open.send(action, bytes).isSuccess)
            }
            let late = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            #expect(
                try await service.ask(.complete, object: sample.completion(parts.partSize, of: parts.upload)).object
                    != nil)
            #expect(try await service.ask(.upload, object: sample.object("space/large")).object != nil)
            let other = Sample(store.largeByteCount, seed: 2)
            #expect(try await service.ask(.upload, object: other.object("space/large")).error?.code == .integrity)
            #expect(late.upload != parts.upload || !store.knowsUploads)
        }
    }
}
