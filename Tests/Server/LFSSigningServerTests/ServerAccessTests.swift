import Foundation
import LFSStorage
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Ownership of keys", .timeLimit(.minutes(10)))
struct ServerAccessTests {
    /// Tries every operation on every kind of foreign key, also with another caller's tokens. No operation reveals or
    /// changes anything.
    @Test("Every operation on a foreign key is refused", arguments: TestStore.allAndLoose)
    func foreign(_ store: TestStore) async throws {
        try await store.open { open in
            // A store without claims uses a rule with the same effect.
            let access: SigningAccess =
                open.backend.createsAtomically
                ? .claimedNamespaces : .rule { $0.namespace == "space" && $0.caller == "alice" }
            let service = try open.service(access: access)
            let sample = Sample(300)
            let action = try #require(
                try await service.ask(.upload, object: sample.object("space/one")).action(for: .upload))
            #expect(try await open.send(action, sample.bytes).isSuccess)
            let large = Sample(store.largeByteCount)
            let parts = try #require(try await service.ask(.upload, object: large.object("space/large")).parts)
            var count = 0
            for operation in SigningOperation.allCases {
                for key in ["space/one", "space/missing", "space/large", "claims/space"] {
                    var object = sample.object(key)
                    object.prefix = String(key.prefix { $0 != "/" }) + "/"
                    object.upload = parts.upload
                    object.number = 1
                    object.partsSHA256 = object.sha256
                    object.replace = true
                    object.size = ["space/large": Int64(large.bytes.count)][key] ?? 300
                    let answer = try await service.ask(operation, object: object, as: "bob")
                    let code = answer.error?.code
                    #expect(code == .forbidden || code == .lostUpload, "\(operation) \(key): \(answer)")
                    #expect(
                        answer.actions == nil && answer.object == nil && answer.page == nil && answer.present == nil)
                    count += 1
                }
            }
            print("refused | \(store.testDescription) | foreign keys | \(count) of \(count)")
            #expect(try await service.ask(.confirm, object: sample.object("space/one")).object != nil)
            var state = SigningObject()
            state.upload = parts.upload
            #expect(try await service.ask(.state, object: state).present == [])
        }
    }

    @Test("A namespace belongs to its first writer, even among concurrent ones", arguments: TestStore.allAndLoose)
    func race(_ store: TestStore) async throws {
        try await store.open { open in
            guard open.backend.createsAtomically else {
                #expect(throws: StorageError.self) { try open.service(access: .claimedNamespaces) }
                return
            }
            for round in 0..<10 {
                let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for caller in 0..<8 {
                        // Each caller has its own service without cached claims.
                        let service = try open.service()
                        group.addTask {
                            let object = Sample(10).object("space\(round)/one")
                            return try await service.ask(.upload, object: object, as: "caller\(caller)").error == nil
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(winners == 1)
            }
        }
    }

    @Test("A namespace is claimed with one write for many concurrent files")
    func once() async throws {
        try await TestStore().open { open in
            let store = GatedStore(try #require(open.backend.folder))
            let service = try OpenStore(backend: store.backend(open), secret: open.secret, clock: open.clock).service()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let answer = try? await service.ask(.upload, object: Sample(10).object("space/\(number)"))
                        #expect(answer?.action(for: .upload) != nil)
                    }
                }
            }
            #expect(store.counts.creations == 1)
        }
    }

    @Test(
        "An unclaimed namespace is empty, and only a write claims it", arguments: TestStore.allAndLoose
    )
    func unclaimed(_ store: TestStore) async throws {
        try await store.open { open in
            guard open.backend.createsAtomically else { return }
            let service = try open.service()
            let object = Sample(10).object("space/one")
            for operation in [SigningOperation.head, .download, .confirm] {
                #expect(try await service.ask(operation, object: object, as: "bob").error?.code == .missing)
            }
            var list = SigningObject()
            list.prefix = "space/"
            #expect(try await service.ask(.list, object: list, as: "bob").page?.objects == [])
            #expect(try await service.ask(.delete, object: object, as: "bob") == .done)
            #expect(try await service.ask(.upload, object: object, as: "alice").error == nil)
            #expect(try await service.ask(.head, object: object, as: "bob").error?.code == .forbidden)
        }
    }

    @Test("A rule can share a key for reading but never gives ownership")
    func shared() async throws {
        try await TestStore(server: nil).open { open in
            let service = try open.service(
                access: .claimedNamespaces(sharing: { $0.caller == "bob" && $0.verb == .read && $0.key == "space/one" })
            )
            let sample = Sample(20)
            for key in ["space/one", "space/two"] {
                let action = try #require(
                    try await service.ask(.upload, object: sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            #expect(try await service.ask(.head, object: sample.object("space/one"), as: "bob").object != nil)
            #expect(try await service.ask(.download, object: sample.object("space/one"), as: "bob").actions != nil)
            #expect(
                try await service.ask(.head, object: sample.object("space/two"), as: "bob").error?.code == .forbidden)
            #expect(
                try await service.ask(.upload, object: sample.object("space/one"), as: "bob").error?.code == .forbidden)
            #expect(
                try await service.ask(.delete, object: sample.object("space/one"), as: "bob").error?.code == .forbidden)
            #expect(
                try await service.ask(.head, object: sample.object("space/one"), as: "eve").error?.code == .forbidden)
        }
    }

    @Test("A claim outlives the service, and an unreadable claim refuses every caller")
    func durable() async throws {
        try await TestStore(server: nil).open { open in
            _ = try await open.service().ask(.upload, object: Sample(1).object("space/one"))
            #expect(
                try await open.service().ask(.upload, object: Sample(1).object("space/two"), as: "bob").error != nil)
            #expect(try await open.service().ask(.upload, object: Sample(1).object("space/two")).error == nil)
            let created = try await open.backend.objects.create(
                ObjectKey("claims/broken"), bytes: Array("nonsense".utf8))
            #expect(created)
            let answer = try await open.service().ask(.upload, object: Sample(1).object("broken/one"))
            #expect(answer.error?.code == .serverError)
        }
    }
}
